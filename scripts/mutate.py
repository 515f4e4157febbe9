#!/usr/bin/env python3
"""Breaks the code on purpose and looks whether the tests notice. Not part of `make test`.

  scripts/mutate.py --files src/contact --count 100 --seed 1      random mutants of these files
  scripts/mutate.py --list tests/mutants/hand-made.txt            mutants made by hand
  scripts/mutate.py ... --tests 'cone|events'                     by these tests alone
  scripts/mutate.py ... --revision e95e7f5                        of another state of the code

A mutant is one change: a comparison or sign turned round, a constant changed, a condition negated,
a block or statement left out. It is built in a copy of the repository (-O1, no assertions) and runs
through the unit tests, the quickest first, until one fails or takes ten times its usual time. The
same seed makes the same mutants. The table (file, line, change, verdict) goes to stdout and to -o;
"survived" is what to look at: a missing test, or a change that changes nothing.
"""
import argparse
import concurrent.futures
import glob
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# ---- mutations of a line: (name, pattern, what to put for a match) ---------------------------------

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*"}
UPDATES = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
LOGIC = {"&&": "||", "||": "&&"}


def other_number(text):
    if re.fullmatch(r"\d+", text):
        return {"0": "1", "1": "0"}.get(text, str(int(text) + 1))
    return "(2 * %s)" % text


RULES = [
    ("comparison", r" (<=|>=|==|!=|<|>) ", lambda m: " %s " % COMPARISONS[m[1]]),
    ("sign", r"(?<=[\w\)\]]) ([-+*/]) (?=[\w\(])", lambda m: " %s " % SIGNS[m[1]]),
    ("update", r" ([-+*/]=) ", lambda m: " %s " % UPDATES[m[1]]),
    ("logic", r" (&&|\|\|) ", lambda m: " %s " % LOGIC[m[1]]),
    ("constant", r"(?<![\w.\"])(\d+\.?\d*(?:e-?\d+)?)(?![\w.])", lambda m: other_number(m[1])),
    ("negated", r"\bif \((.*)\)(?= [^)]*$)", lambda m: "if (!(%s))" % m[1]),
    ("never", r"\bif \((.*)\)(?= [^)]*$)", lambda m: "if (false && (%s))" % m[1]),
    ("always", r"\bif \((.*)\)(?= [^)]*$)", lambda m: "if (true || (%s))" % m[1]),
    ("no call", r"^( +)[a-z]\w*\(.*\);$", lambda m: m[1] + ";"),
    ("no assignment", r"^( +)[a-z][\w>.\[\]-]* [-+*/]?= .*;$", lambda m: m[1] + ";"),
    ("return 0", r"\breturn [^;]+;", lambda m: "return 0;"),
]
# lines whose change would show nothing: messages, checks of memory, text of the preprocessor
SKIPPED = re.compile(r"^\s*(//|/?\*|#)|error_set|REQUIRE|assert|OUT_OF_MEMORY|\bfree\(|^\s*\"|== NULL")


def is_code(line, previous):
    return line.startswith("  ") and not SKIPPED.search(line) and "error_set" not in previous


def mutants_of(path):
    """Every mutant of a file: (path, line number, rule, old line, new line)."""
    with open(os.path.join(ROOT, path)) as file:
        lines = file.read().split("\n")
    comment = False
    for number, line in enumerate(lines, 1):
        comment = (comment or "/*" in line) and "*/" not in line
        if comment or not is_code(line, lines[number - 2]):
            continue
        for name, pattern, change in RULES:
            for match in re.finditer(pattern, line):
                new = line[: match.start()] + change(match) + line[match.end() :]
                if new != line:
                    yield {"file": path, "line": number, "name": name, "old": line, "new": new}


def random_mutants(paths, count, seed):
    files = []
    for path in paths:
        full = os.path.join(ROOT, path)
        found = [full] if os.path.isfile(full) else glob.glob(full + "/**/*.c", recursive=True)
        files += sorted(os.path.relpath(f, ROOT) for f in found)
    everything = [m for f in files for m in mutants_of(f)]
    random.Random(seed).shuffle(everything)
    return everything[:count]


# ---- mutants made by hand --------------------------------------------------------------------------


def read_list(path):
    """Records of `key: value` lines, separated by empty lines; see tests/mutants/hand-made.txt."""
    with open(path) as file:
        text = "".join(l for l in file if not l.startswith("#"))
    for record in re.split(r"\n\n+", text.strip()):
        pairs = [line.split(": ", 1) for line in record.split("\n")]
        values = {k: [v for key, v in pairs if key == k] for k in ("name", "file", "find", "replace")}
        yield {"name": values["name"][0], "files": values["file"], "changes":
               list(zip(values["find"], values["replace"]))}


def resolve(mutant, root):
    """Where a mutant made by hand applies in this state of the code."""
    for pattern in mutant["files"]:
        for full in sorted(glob.glob(os.path.join(root, pattern))):
            with open(full) as file:
                text = file.read()
            for find, replace in mutant["changes"]:
                match = re.search(find, text)
                if match:
                    new = text[: match.start()] + match.expand(replace) + text[match.end() :]
                    return {"file": os.path.relpath(full, root), "name": mutant["name"],
                            "line": text.count("\n", 0, match.start()) + 1,
                            "old": match[0], "new": match.expand(replace), "text": new}
    return None


# ---- a copy of the repository that is built and tested ---------------------------------------------


class Copy:
    def __init__(self, folder, revision, wanted):
        self.folder = folder
        self.build = os.path.join(folder, "build/mutants")
        os.makedirs(folder)
        if revision:
            subprocess.run("git -C '%s' archive '%s' | tar -x -C '%s'" % (ROOT, revision, folder),
                           shell=True, check=True)
        else:
            names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True,
                                   capture_output=True).stdout
            subprocess.run(["tar", "-C", ROOT, "--null", "-T", "-", "-cf", folder + ".tar"],
                           input=names, check=True)
            subprocess.run(["tar", "-C", folder, "-xf", folder + ".tar"], check=True)
            os.remove(folder + ".tar")
        subprocess.run(["cmake", "-S", folder, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release",
                        "-DCMAKE_C_FLAGS_RELEASE=-O1 -w -DNDEBUG", "-DCAROM_TESTS=ON",
                        "-DCAROM_EXAMPLES=OFF"], check=True, stdout=subprocess.DEVNULL)
        sources = glob.glob(os.path.join(folder, "tests/test_*.c"))
        self.tests = [t for t in sorted(os.path.basename(s)[:-2] for s in sources)
                      if re.search(wanted, t)]
        self.usual = {}
        if not self.compile():
            sys.exit("mutate: the code does not build without a mutant")
        for test in self.tests:
            start = time.time()
            if self.run(test, 900) != "passed":
                sys.exit("mutate: %s fails without a mutant" % test)
            self.usual[test] = time.time() - start
        self.tests.sort(key=lambda test: self.usual[test])

    def compile(self):
        command = ["cmake", "--build", self.build, "-j", "2", "--target"] + self.tests
        return subprocess.run(command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def run(self, test, limit):
        try:
            program = os.path.join(self.build, "tests", test)
            environment = dict(os.environ, OMP_WAIT_POLICY="passive")
            done = subprocess.run([program], cwd=os.path.dirname(program), env=environment,
                                  timeout=limit, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
            return "passed" if done.returncode == 0 else "failed"
        except subprocess.TimeoutExpired:
            return "time"

    def judge(self, mutant):
        """(verdict, the test that noticed)"""
        path = os.path.join(self.folder, mutant["file"])
        with open(path) as file:
            good = file.read()
        text = mutant.get("text")
        if text is None:
            lines = good.split("\n")
            lines[mutant["line"] - 1] = mutant["new"]
            text = "\n".join(lines)
        try:
            with open(path, "w") as file:
                file.write(text)
            if not self.compile():
                return "not compiled", ""
            for test in self.tests:
                result = self.run(test, 20 + 10 * self.usual[test])
                if result != "passed":
                    return ("killed" if result == "failed" else "killed by time"), test
            return "survived", ""
        finally:
            with open(path, "w") as file:
                file.write(good)


# ---- the table -------------------------------------------------------------------------------------


def line_of(mutant, verdict, test):
    clean = lambda text: re.sub(r"\s+", " ", text).strip()
    return "\t".join([mutant["file"], str(mutant["line"]), mutant["name"], verdict, test,
                      clean(mutant["old"]) + "  ->  " + clean(mutant["new"])])


def summary(results):
    verdicts = [v for _, v, _ in results]
    killed = sum(v.startswith("killed") for v in verdicts)
    survived = verdicts.count("survived")
    lines = ["%d mutants: %d killed, %d survived, %d did not compile" % (
        len(results), killed, survived, verdicts.count("not compiled"))]
    for file in sorted({m["file"] for m, v, _ in results if v == "survived"}):
        places = [str(m["line"]) for m, v, _ in results if m["file"] == file and v == "survived"]
        lines.append("  %s: lines %s survived" % (file, ", ".join(places)))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", default=["src"], help="files or folders; src")
    parser.add_argument("--count", type=int, default=50, help="random mutants; 50")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", help="a file of mutants made by hand, instead of random ones")
    parser.add_argument("--tests", default=".", help="a pattern of names of tests; all")
    parser.add_argument("--revision", help="of the code to break; default: the working tree")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the repository; 1")
    parser.add_argument("--minutes", type=float, default=1e9, help="no new mutant after this time")
    parser.add_argument("--dry-run", action="store_true", help="list the mutants alone")
    parser.add_argument("-o", "--output", help="the table, as a file")
    options = parser.parse_args()

    start = time.time()
    table = open(options.output, "w") if options.output else None

    def say(text):
        print(text, flush=True)
        if table:
            print(text, file=table, flush=True)

    if options.list is None:
        mutants = random_mutants(options.files, options.count, options.seed)
        if options.dry_run:
            for mutant in mutants:
                say(line_of(mutant, "", ""))
            return
    work = tempfile.mkdtemp(prefix="carom-mutants-")
    try:
        copies = queue.Queue()
        for k in range(options.jobs):
            copies.put(Copy(os.path.join(work, str(k)), options.revision, options.tests))
        if options.list is not None:
            found = [(m, resolve(m, os.path.join(work, "0"))) for m in read_list(options.list)]
            for record, place in found:
                if place is None:
                    say("\t\t%s\tnot found\t\t" % record["name"])
            mutants = [place for _, place in found if place is not None]

        def judge(mutant):
            if time.time() - start > 60 * options.minutes:
                return None
            copy = copies.get()
            try:
                verdict, test = copy.judge(mutant)
            finally:
                copies.put(copy)
            say(line_of(mutant, verdict, test))
            return mutant, verdict, test

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = [r for r in pool.map(judge, mutants) if r is not None]
        for line in summary(results):
            say(line)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
