// Calls of web hooks. Only addresses set by the database's owner are called: no token
// can add one over the network, so that the hive cannot be made to call places that only
// it can reach. A redirect counts as failure, and only the status of a response is
// stored.
#include "lib/hive/server/borrowed.h"
#include "lib/hive/server/signature.h"

namespace deadheat::hive::server {

bool Service::call_hook(const http::Client& settings) {
  auto due = Borrowed(*this)->next_call(now_ms());
  if (!due) {
    (void)broken(due.error());
    return false;
  }
  if (!due.value()) return false;
  const store::HookCall& call = *due.value();
  http::Client client = settings;
  client.url = call.url;
  constexpr int kPatience_s = 10;
  client.timeout_s = kPatience_s;
  constexpr uint64_t kMostAnswer = 64 << 10;
  client.most_bytes = kMostAnswer;
  const std::string at = std::to_string(now_ms());
  http::Request request;
  request.method = "POST";
  request.headers = {
      {"Content-Type", "application/json"},
      {"Deadheat-Delivery", call.id},
      {"Deadheat-Time", at},
      {"Deadheat-Signature", "sha256=" + keyed_hash(at + "." + call.body, call.secret)}};
  request.body = call.body;
  if (http::parse_url(call.url).path.empty()) request.path = "/";
  auto response = client.call(request);
  const bool taken = response && response->status >= 200 && response->status < 300;
  const std::string answer = response ? std::to_string(response->status) : response.error().message;
  const Status noted = Borrowed(*this)->end_call(call, answer, taken, now_ms());
  if (!noted) (void)broken(noted.error());
  return noted.ok();
}

}  // namespace deadheat::hive::server
