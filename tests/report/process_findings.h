// Races between processes with their stories, for fixture.h.
#pragma once

#include "lib/model/finding.h"

namespace deadheat::report::fixture {

model::Site syscall(const char* program, const char* name, const char* object);

// Two jobs that note what they did in one file; as `deadheat proc check` tells it.
model::Finding release();
// The same with strings that want to break out, in every place of the story.
model::Finding hostile_release(const std::string& bad, const std::string& longest);
// 300 processes, 100 of which claim to race.
model::Finding crowd();

}  // namespace deadheat::report::fixture
