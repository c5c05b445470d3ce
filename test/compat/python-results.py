"""Runs modules of CPython's own tests, and writes the result of each test as a line: its id, a tab, what came out."""
import os
import sys
import tempfile
import unittest

out = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.chdir(tempfile.mkdtemp())


class Results(unittest.TestResult):
    def tell(self, test, what):
        out.write(f"{test.id()}\t{what}\n")

    def addSuccess(self, test):
        self.tell(test, "pass")

    def addFailure(self, test, err):
        self.tell(test, "fail")

    def addError(self, test, err):
        self.tell(test, "fail")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.tell(test, "fail")

    def addSkip(self, test, reason):
        self.tell(test, "skip")

    def addExpectedFailure(self, test, err):
        self.tell(test, "pass")

    def addUnexpectedSuccess(self, test):
        self.tell(test, "fail")


for name in sys.argv[1:]:
    try:
        tests = unittest.defaultTestLoader.loadTestsFromName("test." + name)
    except unittest.SkipTest:
        out.write(f"{name}\tskip\n")
        continue
    tests.run(Results())
