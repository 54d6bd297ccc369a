// The tables, by version. A database of any earlier version is migrated to the current one in one
// transaction; one of a later version is refused. A released version never changes: a change is a
// new step at the end.
#pragma once

#include <cstdint>

#include "lib/base/result.h"
#include "lib/hive/store/connection.h"

namespace deadheat::hive::store {

int64_t newest_schema();
Result<int64_t> schema_version(Connection& connection);  // 0: an empty database
// Returns the version that it had.
Result<int64_t> migrate(Connection& connection);
// To this version only: how a test makes an old database.
Status migrate_to(Connection& connection, int64_t version);

}  // namespace deadheat::hive::store
