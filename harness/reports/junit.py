"""JUnit's XML, as CI systems show it: a suite per problem, a test case per solution.

Format: the elements that Jenkins' junit-10.xsd names; systems differ in the rest.
"""

from __future__ import annotations

from itertools import groupby
from xml.etree import ElementTree

from harness.model.gate import GateReport, Judged
from harness.reports.gate import clipped, finding_words, measured_words, setting_lines
from harness.reports.untrusted import harmless, one_line

_LONGEST = 32_000


def junit_xml(report: GateReport) -> str:
    """The whole file. Broken is an error; failed, and inconclusive where forbidden, a failure; waived a skip."""
    root = ElementTree.Element("testsuites", name="harness gate")
    for problem, group in groupby(report.judged, key=lambda judged: judged.problem):
        suite = ElementTree.SubElement(root, "testsuite", name=harmless(problem))
        suite.append(_properties(report))
        suite.extend(_case(judged) for judged in group)
    for suite in (root, *root):
        suite.attrib.update({name: str(len([*suite.iter(tag)])) for name, tag in _COUNTED.items()})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False).join((_DECLARATION, "\n"))


_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}


def _properties(report: GateReport) -> ElementTree.Element:
    """Return what holds for the whole gate."""
    element = ElementTree.Element("properties")
    lines = [("setting", line) for line in setting_lines(report)] + [("remark", remark) for remark in report.remarks]
    for name, value in lines:
        ElementTree.SubElement(element, "property", {"name": name, "value": harmless(value)})
    return element


def _case(judged: Judged) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        classname=harmless(judged.problem),
        name=harmless(judged.solution),
        time=f"{judged.duration_s:.3f}",
    )
    tag = {"failed": "failure", "inconclusive": "failure", "broken": "error"}.get(judged.outcome)
    skipping = [f for f in judged.findings if f.level == "waived" or (f.rule, f.level) == ("unsupported", "tolerated")]
    deciding = [f for f in judged.findings if f.level == judged.outcome] if tag else skipping
    if deciding:
        first = deciding[0]
        element = ElementTree.SubElement(case, tag or "skipped", message=clipped(one_line(first.message), 500))
        if tag:
            element.set("type", first.rule)
        texts = [line for finding in deciding for line in (*finding_words(finding), finding.details or "")]
        element.text = clipped(harmless("\n".join(line for line in texts if line)), _LONGEST)
    others = [line for f in judged.findings if f not in deciding for line in (f"{f.level}:", *finding_words(f))]
    if lines := [*measured_words(judged), *others]:
        ElementTree.SubElement(case, "system-out").text = clipped(harmless("\n".join(lines)), _LONGEST)
    return case
