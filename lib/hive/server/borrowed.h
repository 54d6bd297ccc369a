// A store for the time of one request. Private to the service.
#pragma once

#include "lib/hive/server/service.h"

namespace deadheat::hive::server {

class Service::Borrowed {
 public:
  explicit Borrowed(Service& service) : service_(service) {
    std::unique_lock lock(service.mutex_);
    service.free_store_.wait(lock, [&] { return !service.stores_.empty(); });
    store_ = std::move(service.stores_.back());
    service.stores_.pop_back();
  }
  ~Borrowed() {
    {
      const std::lock_guard lock(service_.mutex_);
      service_.stores_.push_back(std::move(store_));
    }
    service_.free_store_.notify_one();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  store::Store* operator->() { return store_.get(); }

 private:
  Service& service_;
  std::unique_ptr<store::Store> store_;
};

http::Response problem(int status, const std::string& error, const std::string& hint = "");

}  // namespace deadheat::hive::server
