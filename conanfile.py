import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class RepelConan(ConanFile):
    """conan create .    then, in a project: self.requires("repel/0.2.0"), find_package(repel), repel::repel"""

    name = "repel"
    description = "Repulsive deep ensembles and particle variational inference, header-only on Eigen"
    license = "MIT"
    topics = ("bayesian", "deep-ensembles", "variational-inference", "svgd", "eigen", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "include/*", "LICENSE"
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include", "repel", "version.hpp"))
        self.version = ".".join(re.findall(r"#define REPEL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("eigen/[>=3.4.0]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "repel")
        self.cpp_info.set_property("cmake_target_name", "repel::repel")
        self.cpp_info.set_property("pkg_config_name", "repel")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
