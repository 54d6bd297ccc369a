#include "lib/hive/http/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>

namespace deadheat::hive::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Code = boost::system::error_code;
using Tcp = asio::ip::tcp;

// One operation after the other, each to its end: the stream's own deadline ends it in any case,
// and so does the caller's wish to stop. What is pending then goes with the context, uncalled.
class Waiter {
 public:
  explicit Waiter(const std::function<bool()>& stopped) : stopped_(stopped) {}
  asio::io_context context;

  template <typename Start>
  Code await(Start start) {
    Code result = asio::error::timed_out;
    start([&result](Code error, auto&&...) { result = error; });
    context.restart();
    while (!context.stopped()) {
      context.run_for(std::chrono::milliseconds(100));
      if (stopped_ && stopped_()) return asio::error::operation_aborted;
    }
    return result;
  }

 private:
  const std::function<bool()>& stopped_;
};

beast::http::verb verb_of(const std::string& method) { return beast::http::string_to_verb(method); }

template <typename Stream>
Result<Response> exchange(Waiter& waiter, Stream& stream, const Url& url, const Request& request,
                          uint64_t most_bytes) {
  beast::http::request<beast::http::string_body> out;
  out.version(11);
  out.method(verb_of(request.method));
  out.target(url.path + request.path);
  out.set(beast::http::field::host, url.host + ":" + url.port);
  out.set(beast::http::field::user_agent, "deadheat/" DEADHEAT_VERSION);
  for (const auto& [name, value] : request.headers) out.set(name, value);
  out.body() = request.body;
  out.keep_alive(false);
  out.prepare_payload();
  Code error =
      waiter.await([&](auto done) { beast::http::async_write(stream, out, std::move(done)); });
  // A server that refuses a body early has answered before it was completely sent: keep reading.
  beast::flat_buffer buffer;
  beast::http::response_parser<beast::http::string_body> in;
  in.header_limit(64 << 10);
  in.body_limit(most_bytes);
  const Code read = waiter.await(
      [&](auto done) { beast::http::async_read(stream, buffer, in, std::move(done)); });
  if (read) error = read;
  if (error && !(in.is_done() || (in.is_header_done() && in.get().result_int() >= 400)))
    return Error{"no answer from " + url.host + ":" + url.port + ": " + error.message(),
                 "is the hive running, and is this its address?"};
  Response response;
  response.status = static_cast<int>(in.get().result_int());
  response.type = std::string(in.get()[beast::http::field::content_type]);
  for (const auto& field : in.get())
    response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  response.body = std::move(in.get().body());
  return response;
}

}  // namespace

Result<Response> Client::call(const Request& request) const {
  const Url to = parse_url(url);
  if (to.host.empty())
    return Error{"'" + url + "' is no address of a hive", "as in https://hive.example:8700"};
  Waiter waiter(stopped);
  Code error;
  Tcp::resolver resolver(waiter.context);
  const auto places = resolver.resolve(to.host, to.port, error);
  if (error)
    return Error{"cannot find " + to.host + ": " + error.message(), "check the hive's address"};
  asio::ssl::context tls(asio::ssl::context::tls_client);
  if (to.secure) {
    if (authority.empty()) {
      tls.set_default_verify_paths(error);
    } else {
      tls.load_verify_file(authority, error);
    }
    if (error) return Error{"cannot read the authority " + authority + ": " + error.message(), ""};
    tls.set_verify_mode(asio::ssl::verify_peer);
    tls.set_verify_callback(asio::ssl::host_name_verification(to.host));
  }
  beast::ssl_stream<beast::tcp_stream> stream(waiter.context, tls);
  beast::tcp_stream& plain = beast::get_lowest_layer(stream);
  plain.expires_after(std::chrono::seconds(timeout_s));
  error = waiter.await([&](auto done) { plain.async_connect(places, std::move(done)); });
  if (error)
    return Error{"cannot reach " + to.host + ":" + to.port + ": " + error.message(),
                 "is the hive running, and is this its address?"};
  if (!to.secure) return exchange(waiter, plain, to, request, most_bytes);
  SSL_set_tlsext_host_name(stream.native_handle(), to.host.c_str());
  error = waiter.await(
      [&](auto done) { stream.async_handshake(asio::ssl::stream_base::client, std::move(done)); });
  if (error)
    return Error{"no secure connection to " + to.host + ": " + error.message(),
                 "if the hive has a certificate of its own, name its authority with --ca"};
  return exchange(waiter, stream, to, request, most_bytes);
}

}  // namespace deadheat::hive::http
