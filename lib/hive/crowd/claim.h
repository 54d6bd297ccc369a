// An agent's proof is a claim. What the proof implied about order is stated explicitly, because a
// claim implies nothing.
#pragma once

#include "lib/model/evidence.h"

namespace deadheat::hive::crowd {

void make_claim(model::Evidence& evidence);

}  // namespace deadheat::hive::crowd
