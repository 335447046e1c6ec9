"""Exports of what is labelled and of the labels: streamed, in a stable order."""

from annotation.exports.export import Export, ExportFormat
from annotation.exports.kto import KTO
from annotation.exports.labels import LABELS
from annotation.exports.satisfaction import SATISFACTION
from annotation.exports.sessions import SESSIONS
from annotation.exports.wide import LABELS_WIDE

EXPORTS = {each.kind: each for each in (KTO, LABELS, LABELS_WIDE, SATISFACTION, SESSIONS)}

__all__ = [
    "EXPORTS",
    "KTO",
    "LABELS",
    "LABELS_WIDE",
    "SATISFACTION",
    "SESSIONS",
    "Export",
    "ExportFormat",
]
