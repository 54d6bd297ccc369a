// A hand-made findings file with one of everything that a report must show, and a hostile one.
#pragma once

#include "lib/report/report.h"

namespace deadheat::report::fixture {

// Harmful; made to happen, with a crash seen once; observed; observed but not schedulable; partly
// seen; a hybrid candidate; a likely false positive; one that the suppressions cover; a race of
// three processes; sites that only a text trace names; a failure that no race explains.
model::FindingsFile bank();
// What was known before: some of bank()'s findings, one with its line moved, and one that is fixed
// since.
model::FindingsFile bank_before();
// The same kinds of text as bank() but every string wants to break out: markup, quotes, control
// bytes, broken UTF-8, names of 10 kB; many steps, many frames.
model::FindingsFile hostile();

// bank() with baseline, suppressions (one used, one unused, one expired, one misspelt) and a fixed
// day.
Report bank_report();
Report empty_report();
Report hostile_report();

}  // namespace deadheat::report::fixture
