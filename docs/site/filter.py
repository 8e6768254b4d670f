#!/usr/bin/env python3
"""filter.py HEADER: what Doxygen reads in place of a header. Line numbers stay as they are.

- The introduction of a header, plain // lines above its namespace, becomes the documentation of the file.
- What a header declares goes into the topic of its folder (groups.dox).
- Deduction guides are left out.
- Members that many policies have because a concept asks for them are documented once, below; a comment in the header
  comes before that.
"""

import pathlib
import re
import sys

TOPICS = {  # the longest prefix counts
    "core/": "core", "core/minibatch.hpp": "networks", "core/parallel.hpp": "threads", "core/executor.hpp": "threads",
    "core/threads.hpp": "threads", "linalg/": "linalg", "linalg/solver.hpp": "estimators", "density/": "densities",
    "kernel/": "kernels", "kernel/bandwidth.hpp": "bandwidths", "pairwise/heat_bandwidth.hpp": "bandwidths",
    "pairwise/": "pairs", "score/": "estimators", "rule/": "rules", "optim/": "optimisers", "optim/schedule.hpp": "schedules",
    "optim/anneal.hpp": "schedules", "observe/": "running", "run.hpp": "running", "sampler.hpp": "running",
    "sample/": "sampling", "sample.hpp": "sampling", "space/": "spaces", "bnn/": "networks", "predictor.hpp": "networks",
    "hmc/": "chains", "metrics/": "metrics", "diagnostics/": "diagnostics", "data/": "data", "io/": "files",
    "adolc.hpp": "densities", "torch/": "torch", "version.hpp": "core", "mpi/": "distributed", "mpi.hpp": "distributed",
    "benchmark/": "benchmarking", "benchmark.hpp": "benchmarking",
}

CONTRACT = {
    "validate": "Checks the settings; throws std::invalid_argument with the setting, its value and the rule.",
    "take_share": "Called before a step in which it sees some of the particles only (Share).",
    "own_score_only": "Whether a particle's direction needs no other particle's score.",
    "processes": "The number of processes.",
    "begin_step": "Called before every step with its number; passed on to whatever is inside.",
    "Workspace": "Buffers, which the sampler keeps from step to step.",
    "Memory": "What the optimiser remembers between steps; part of the state.",
    "init": "The memory before the first step.",
    "update": "Moves the particles along the direction phi.",
    "update_scaled": "The same with a factor on the learning rate.",
    "step_sizes": "The step size of every coordinate now, for the noise of Langevin.",
    "fields": "All that a checkpoint must hold.",
    "change_frame": "Carries the memory over to other coordinates.",
    "like_particles": "The memory has the shape of the particles.",
    "Targets": "How the targets of the training data are held.",
    "Prediction": "What predict() returns under this likelihood.",
    "has_probabilities": "Whether predictions are class probabilities.",
    "scales_targets": "Whether targets may be standardised (Scaling).",
    "describe": "Kind and settings, for the file of a Predictor.",
    "from": "The same settings again, from their description in a file.",
    "check": "Throws unless these targets and outputs fit the likelihood.",
    "log_density": "The log density, summed over the points.",
    "summarise": "Writes the members' average prediction into `out`.",
    "score": "Writes the score: the gradient of the log density, at the particles or outputs given.",
    "score_at": "The same estimate at other points.",
    "direction": "Writes the direction in which every particle moves; returns the bandwidth and the size of the repulsion.",
    "parts": "Driving force and repulsion apart, for use behind a view.",
    "phi": "φ(u), the kernel as a function of the scaled distance u.",
    "phi_prime": "dφ/du, given u and k = φ(u).",
    "phi_second": "d²φ/du², which Stein discrepancies need.",
    "slope_shares_value": "φ′ is a multiple of φ, so that one exponential does for both.",
    "counts_zeros": "Whether the n zeros on the diagonal count.",
    "divisor": "What the median is divided by.",
    "seen": "The layout of what the kernel sees.",
    "view": "Writes what the kernel sees of the outputs f into z.",
    "view_vjp": "Maps v back through the view: out = (∂z/∂f)ᵀ v.",
    "free_dim": "The number of free parameters z.",
    "constrain": "Writes the constrained parameters x of the free ones z; returns log |det ∂x/∂z|.",
    "unconstrain": "Writes the free parameters z of the constrained ones x; throws where x is out of bounds.",
    "pullback": "Pulls a gradient back through the transform or the model: the transposed Jacobian times it.",
    "value": "The value at this point.",
    "slope": "The first derivative there.",
    "log_slope": "The logarithm of the derivative.",
    "curve": "The derivative of log_slope.",
    "inverse": "The inverse; throws where x is out of bounds.",
    "add_score": "Adds the score of the prior over functions to g.",
    "predict": "The outputs of every particle.",
    "output_dim": "How many numbers a particle's outputs are.",
    "layout": "How a column of outputs is made up: points, outputs, features.",
    "on_start": "Called before the first step.",
    "on_finish": "Called with the report at the end, however the run ended.",
    "name": "The name in error messages.",
    "dim": "The number of constrained parameters x, or of a particle's coordinates.",
    "assert_fits": "Says at compile time, in a sentence, why particles of type P do not fit.",
    "evaluate": "Computes the driving force at the particles.",
    "places": "Where the particles interact: what rules and kernels see.",
    "driving_force": "The driving force, as last evaluated.",
    "interact": "Lets the rule turn driving force and places into a direction.",
    "value_and_gradient": "Log densities and gradients in one call.",
    "inputs": "The numbers per input point.",
    "outputs": "The numbers per output point.",
    "parameters": "The number of parameters.",
    "features": "The width of the hidden layer shown to views, or 0.",
    "blocks": "The parameters in blocks, which priors and initial draws need.",
    "forward": "The outputs f at the points x of the particle w; keeps in the tape what backward() needs.",
    "backward": "The gradient g of a particle, from the slopes v at its outputs.",
    "keep": "How many of the eigenvalues, in ascending order, are used.",
    "known_count": "Their number, where it does not depend on the eigenvalues.",
    "keep_of_largest": "How many are used, if the largest known so far can tell.",
    "term": "The distance's term of one coordinate.",
    "networks:count": "How many points are added to a batch of this size.",
    "networks:fill": "Writes the added points into the columns of x.",
    "networks:sd": "The standard deviation of a layer's parameters in a particle.",
    "networks:network": "The network.",
    "networks:likelihood": "The likelihood.",
    "networks:scaling": "How inputs and targets are standardised.",
    "schedules:operator()": "The factor at this step.",
    "running:operator()": "Called after every step; returning true stops the run.",
    "spaces:phi": "The rule's direction, where the particles interact.",
    "pairs:measure": "Measures the particles' distances and finds the bandwidth.",
    "pairs:count": "The number of particles.",
    "pairs:scale": "The length of every coordinate.",
    "pairs:values": "The kernel matrix K, n×n, formed on demand.",
    "pairs:values_at": "k(x_i, y_j) for other points y, n×m.",
    "pairs:values_of_some": "Some columns of K.",
    "pairs:diagonal": "k(x, x).",
    "pairs:trace": "The trace of K.",
    "pairs:accumulate": "Sums among the particles: any of the terms of repel::pair, in one pass.",
    "pairs:accumulate_at": "The same sums at other points.",
    "pairs:accumulate_some": "The same sums for particles first … first + m.",
    "pairs:source_gradient_through": "The sum of source gradients, with a map applied to the matrix of pairs first.",
    "kernel": "The kernel, with its bandwidth rule.",
    "bandwidth": "The rule that gives h, at every step.",
    "estimator": "The estimator of ∇ log ρ.",
    "learning_rate": "The step size.",
    "seed": "Of the random numbers; the same seed gives the same bits.",
}


def topic(path):
    matches = [prefix for prefix in TOPICS if path == prefix or (prefix.endswith("/") and path.startswith(prefix))]
    return TOPICS[max(matches, key=len)] if matches else None


def file_introduction(lines):
    """Plain comments above the namespace become the file's documentation."""
    end = next((i for i, line in enumerate(lines) if line.startswith("namespace")), len(lines))
    start = next((i for i in range(1, end) if lines[i].startswith("// ")), None)  # after the licence
    if start is None or lines[start - 1].strip():
        return False
    last = start
    while last < end and lines[last].startswith("//"):
        last += 1
    lines[start - 1] = "/// @file"
    for i in range(start, last):
        text = lines[i][2:]
        if text.startswith("  "):  # a table or code, as it stands
            begins = lines[i - 1].strip() != "///" and not lines[i - 1].startswith("///     ")
            lines[i] = ("///\n" if begins else "") + "///     " + text
        else:
            lines[i] = "/// " + prose(text[1:]) if text else "///"
    return True


def prose(text):
    """Angle brackets are not tags here, and documents are pages of the site."""

    def plain(piece):
        piece = piece.replace("<", "&lt;").replace(">", "&gt;")
        return re.sub(r"\bdocs/([\w-]+)\.md", lambda m: f"[{m[0]}](@ref page_docs_{m[1].replace('-', '_')})", piece)

    return "".join(piece if piece.startswith("`") else plain(piece) for piece in re.split(r"(`[^`]*`)", text))


def comments(lines):
    """/// with three blanks or more is a table or code, as it stands."""
    for i, line in enumerate(lines):
        match = re.match(r"(\s*)///( *)(.*)", line)
        if match and not match[3].startswith("<"):
            indent, blanks, text = match.groups()
            lines[i] = f"{indent}///     {blanks}{text}" if len(blanks) >= 3 else f"{indent}///{blanks}{prose(text)}"
            if len(blanks) >= 3 and i > 0 and re.match(r"\s*/// ?\S", lines[i - 1]):
                lines[i] = f"{indent}///\n{lines[i]}"


DECLARATION = re.compile(
    r"\s+(?:(?:static|constexpr|inline|mutable|explicit|struct|class|using|\[\[nodiscard\]\]) )*"
    r"(?:[\w:<>,&*. ()]+? )?[&*]?(operator\(\)|\w+)(?: requires.*)?(?:\(.*|\{.*|;.*| =.*| = .*)$")


def contract(lines, name):
    inside_detail = False
    for i, line in enumerate(lines):
        if re.match(r"namespace (repel::)?detail\b", line):
            inside_detail = True
        elif re.match(r"\}  // namespace (repel::)?detail", line):
            inside_detail = False
        if inside_detail or not line.startswith("  ") or "///<" in line or re.match(r"\s*(return|detail::|if|for)\b", line) or line.startswith("      "):
            continue
        match = DECLARATION.match(line)
        text = match and CONTRACT.get(f"{name}:{match[1]}", CONTRACT.get(match[1]))
        if not text:
            continue
        first = i
        while first > 0 and re.match(r"\s*(template <|requires)", lines[first - 1]):
            first -= 1
        if first > 0 and re.match(r"\s*(///|\*/)", lines[first - 1]):
            continue
        if lines[first].lstrip().startswith("/**"):
            continue
        lines[first] = re.sub(r"^(\s*)", lambda m: f"{m[1]}/** {text} */ ", lines[first], count=1)


def several(lines):
    """double u, v;  ///< text: Doxygen would document v alone."""
    for i, line in enumerate(lines):
        if match := re.match(r"(\s+(?:mutable )?[\w:<>]+ )([^,()]+(?:, [^,()]+)+);\s+///< (.*)", line):
            names = match[2].split(", ")
            lines[i] = "".join(f"{match[1]}{name}; /**< {match[3]} */" for name in names)


def deduction_guides(lines):
    """Doxygen takes them for functions."""
    for i, line in enumerate(lines):
        if re.match(r"\w+\(.*\) ?-> ?\w+", line) or (
                re.match(r"\w+\(.*\)$", line) and re.match(r"\s+-> \w+", lines[i + 1])):
            last = i
            while not lines[last].rstrip().endswith(";"):
                last += 1
            first = i - 1 if lines[i - 1].startswith("template <") else i
            lines[first:last + 1] = [""] * (last + 1 - first)


def specialisations(lines):
    """Of a constant: the primary template says what it is."""
    for i, line in enumerate(lines):
        if re.match(r"inline constexpr \w+ \w+<", line) and lines[i - 1].startswith("template <"):
            lines[i - 1:i + 1] = ["", ""]


def eigen(lines):
    """Eigen's traits of our types are not ours to document."""
    end = None
    for i, line in enumerate(lines):
        if end is None and line.startswith(("namespace Eigen", "struct Eigen::")):
            end = "}  // namespace Eigen" if line.startswith("namespace") else "};"
            if lines[i - 1].startswith("template <"):
                lines[i - 1] = ""
        if end is not None:
            lines[i] = ""
            if line.startswith(end):
                end = None


def groups(lines, name):
    if name is None:
        return
    depth_open = False
    for i, line in enumerate(lines):
        if re.match(r"namespace repel(::(?!detail)\w+)* \{$", line) and not depth_open:
            lines[i] = f"{line} /** @addtogroup {name}"
            lines[i + 1] = "@{ */" + lines[i + 1]
            depth_open = True
        elif re.match(r"\}  // namespace repel", line) and "detail" not in line and depth_open:
            lines[i] = "/** @} */ " + line
            depth_open = False


if __name__ == "__main__":
    header = pathlib.Path(sys.argv[1])
    content = header.read_text().split("\n")
    path = header.as_posix().split("include/repel/")[-1]
    comments(content)
    file_introduction(content)
    eigen(content)
    specialisations(content)
    deduction_guides(content)
    several(content)
    contract(content, topic(path))
    groups(content, topic(path))
    sys.stdout.write("\n".join(content))
