//! What is said of a parameter, where most are accepted without a word.

use std::{borrow::Cow, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Report;

/// What is said of parameters, in order, each under its name.
pub type Reports = Vec<(Cow<'static, str>, Brief)>;

/// A report that takes no room where the value is accepted without a word.
#[derive(Clone, Debug, Default)]
pub struct Brief(Option<Box<Report>>);

impl Brief {
    /// The report that says as much.
    pub fn of(report: Option<&Report>) -> &Report {
        static SILENT: Report = Report::accepted();
        report.unwrap_or(&SILENT)
    }

    /// Takes the report out.
    pub fn into_report(self) -> Report {
        self.0.map_or_else(Report::accepted, |report| *report)
    }
}

impl Deref for Brief {
    type Target = Report;

    fn deref(&self) -> &Report {
        Self::of(self.0.as_deref())
    }
}

impl From<Report> for Brief {
    fn from(report: Report) -> Self {
        Self(Some(report.into()))
    }
}

impl From<Option<Box<Report>>> for Brief {
    fn from(report: Option<Box<Report>>) -> Self {
        Self(report)
    }
}

impl PartialEq for Brief {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Serialize for Brief {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(out)
    }
}

impl<'de> Deserialize<'de> for Brief {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Report::deserialize(from).map(Self::from)
    }
}
