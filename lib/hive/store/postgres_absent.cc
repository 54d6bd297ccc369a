// A build without libpq.
#include "lib/hive/store/connection.h"

namespace deadheat::hive::store {

Result<std::unique_ptr<Connection>> open_postgres(const std::string&) {
  return Error{"this deadheat was built without PostgreSQL",
               "apt-get install libpq-dev, then build again"};
}

}  // namespace deadheat::hive::store
