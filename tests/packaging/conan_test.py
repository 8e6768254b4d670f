"""conan_test.py SOURCE WORK: runs the Conan recipe's methods with stand-ins for Conan's modules.

It shows that the recipe reads the version, exports what it packages, and packages every header; it cannot show that Conan itself is
content. With Conan: conan create .
"""
import fnmatch
import os
import pathlib
import shutil
import sys
import types

source, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
shutil.rmtree(work, ignore_errors=True)


def check(condition, message):
    if not condition:
        sys.exit(f"conan_test.py: {message}")


class Properties:
    def __init__(self):
        self.properties = {}

    def set_property(self, name, value):
        self.properties[name] = value


class ConanFile:
    def __init__(self):
        self.required = {}
        self.cpp_info = Properties()
        self.settings = types.SimpleNamespace(os="Linux")

    def requires(self, reference, **traits):
        self.required[reference] = traits


def copy(_recipe, pattern, src, dst):
    for path in pathlib.Path(src).rglob("*"):
        name = path.relative_to(src)
        if path.is_file() and fnmatch.fnmatch(str(name), pattern):
            target = pathlib.Path(dst) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


modules = {
    "conan": {"ConanFile": ConanFile},
    "conan.tools": {},
    "conan.tools.build": {"check_min_cppstd": lambda _recipe, level: check(level == 20, "the recipe must ask for C++20")},
    "conan.tools.files": {"copy": copy, "load": lambda _recipe, path: pathlib.Path(path).read_text(encoding="utf-8")},
    "conan.tools.layout": {"basic_layout": lambda _recipe: None},
}
for name, content in modules.items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(content)

recipe_globals = {}
exec(compile((source / "conanfile.py").read_text(encoding="utf-8"), "conanfile.py", "exec"), recipe_globals)
recipe = recipe_globals["RepelConan"]()

recipe.recipe_folder = str(source)
recipe.set_version()
check(recipe.version.count(".") == 2, f"the version is {recipe.version}, but must have three numbers")
recipe.layout()
recipe.requirements()
check(any(r.startswith("eigen/") and t.get("transitive_headers") for r, t in recipe.required.items()),
      "users of repel need Eigen's headers")
recipe.validate()

# Conan copies exports_sources, and nothing else, to the folder that package() sees.
recipe.source_folder, recipe.package_folder = str(work / "source"), str(work / "package")
for pattern in recipe.exports_sources:
    for path in source.rglob("*"):
        name = path.relative_to(source)
        if path.is_file() and name.parts[0] in ("include", "LICENSE") and fnmatch.fnmatch(str(name), pattern):
            (work / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, work / "source" / name)
recipe.package()
headers = {p.relative_to(source / "include") for p in (source / "include").rglob("*.hpp")}
packaged = {p.relative_to(work / "package/include") for p in (work / "package/include").rglob("*.hpp")}
check(headers == packaged and headers, f"the package has {len(packaged)} headers, but the source has {len(headers)}")
check(os.path.exists(work / "package/licenses/LICENSE"), "the package has no licence")
recipe.package_info()
check(recipe.cpp_info.properties["cmake_target_name"] == "repel::repel", "the CMake target must be repel::repel")
print(f"repel/{recipe.version}: {len(packaged)} headers")
