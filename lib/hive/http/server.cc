#include "lib/hive/http/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace deadheat::hive::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Code = boost::system::error_code;
using Tcp = asio::ip::tcp;
using Tls = beast::ssl_stream<beast::tcp_stream>;

// A connection, as far as the others are concerned.
class Guest {
 public:
  Guest() = default;
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  virtual ~Guest() = default;
  virtual void leave() = 0;  // soon, from any thread

 private:
  friend class Strangers;
  uint64_t since_ = 0;  // 0: no stranger
};

// Those who have not shown a credential, by when they came.
class Strangers {
 public:
  void add(const std::shared_ptr<Guest>& guest) {
    const std::lock_guard lock(mutex_);
    if (guest->since_ != 0) return;
    guest->since_ = ++last_;
    all_.emplace(guest->since_, guest);
  }
  void remove(Guest& guest) {
    const std::lock_guard lock(mutex_);
    if (guest.since_ != 0) all_.erase(guest.since_);
    guest.since_ = 0;
  }
  // False: there is none.
  bool dismiss_first() {
    const std::shared_ptr<Guest> guest = take_first();  // may end here: without the lock
    if (guest != nullptr) guest->leave();
    return guest != nullptr;
  }

 private:
  std::shared_ptr<Guest> take_first() {
    const std::lock_guard lock(mutex_);
    while (!all_.empty()) {
      auto guest = all_.begin()->second.lock();
      all_.erase(all_.begin());
      if (guest == nullptr) continue;
      guest->since_ = 0;
      return guest;
    }
    return nullptr;
  }

  std::mutex mutex_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::weak_ptr<Guest>> all_;
};

struct Shared {
  Shared(ServerOptions its_options, Handlers its_handlers)
      : options(std::move(its_options)), handlers(std::move(its_handlers)) {}
  ServerOptions options;
  Handlers handlers;
  Strangers strangers;
  std::atomic<uint32_t> connections = 0;
};

// So many connections may be open, beside the database's files and what else there is. The limit
// that a process starts with is for those that use select().
uint32_t most_connections(uint32_t wished) {
  constexpr rlim_t kOthers = 100;
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return wished;
  const rlim_t needed = wished + kOthers;
  if (files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    (void)::setrlimit(RLIMIT_NOFILE, &files);
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return wished;
  }
  if (files.rlim_cur >= needed) return wished;
  return static_cast<uint32_t>(std::max(files.rlim_cur, kOthers + kOthers) - kOthers);
}

Request request_of(const beast::http::request<beast::http::string_body>& from) {
  Request request;
  request.method = std::string(from.method_string());
  set_target(request, std::string(from.target()));
  for (const auto& field : from) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.headers[name] = std::string(field.value());
  }
  request.body = from.body();
  return request;
}

// One connection. Its steps run in sequence on the connection's strand; a step that fails or takes
// too long ends it.
template <typename Stream>
class Session : public Guest, public std::enable_shared_from_this<Session<Stream>> {
 public:
  Session(Stream stream, Shared& shared)
      : stream_(std::move(stream)), shared_(shared), timer_(stream_.get_executor()) {
    Code ignored;
    const auto peer = beast::get_lowest_layer(stream_).socket().remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string();
  }
  ~Session() override {
    shared_.strangers.remove(*this);
    --shared_.connections;
  }

  void leave() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] {
      self->timer_.cancel();
      beast::get_lowest_layer(self->stream_).close();
    });
  }

  void begin() {
    shared_.strangers.add(this->shared_from_this());
    if constexpr (std::is_same_v<Stream, Tls>) {
      patience(shared_.options.head_s);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](Code error) {
                                if (!error) self->read_head(self->shared_.options.head_s);
                              });
    } else {
      read_head(shared_.options.head_s);
    }
  }

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;

  void patience(int seconds) {
    beast::get_lowest_layer(stream_).expires_after(std::chrono::seconds(seconds));
  }

  void read_head(int seconds) {
    parser_.emplace();
    parser_->header_limit(shared_.options.head_bytes);
    parser_->body_limit(boost::none);  // decided when the head is known
    shared_.strangers.add(this->shared_from_this());
    patience(seconds);
    beast::http::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](Code error, size_t) { self->on_head(error); });
  }

  void on_head(Code error) {
    if (error == beast::http::error::header_limit)
      return write({431, "text/plain", "the head of the request is too long\n"}, true);
    if (error) {
      const bool malformed =
          error.category() ==
              beast::http::make_error_code(beast::http::error::bad_method).category() &&
          error != beast::http::error::end_of_stream &&
          error != beast::http::error::partial_message;
      if (malformed) return write({400, "text/plain", "this is no HTTP request\n"}, true);
      return end();
    }
    request_ = request_of(parser_->get());
    request_.peer = peer_;
    request_.secure = std::is_same_v<Stream, Tls>;
    Admission admission = shared_.handlers.admit(request_);
    if (admission.known) shared_.strangers.remove(*this);
    if (admission.refused) return write(std::move(*admission.refused), true);
    const auto length = parser_->content_length();
    if (length && *length > admission.most_bytes) return too_large();
    parser_->body_limit(admission.most_bytes);
    patience(shared_.options.body_s);
    if (beast::iequals(parser_->get()[beast::http::field::expect], "100-continue"))
      return write_continue();
    read_body();
  }

  void write_continue() {
    static constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue, sizeof kContinue - 1),
                      [self = this->shared_from_this()](Code error, size_t) {
                        if (error) return self->end();
                        self->read_body();
                      });
  }

  void read_body() {
    beast::http::async_read(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](Code error, size_t) {
                              if (error == beast::http::error::body_limit) return self->too_large();
                              if (error) return self->end();
                              self->request_.body = std::move(self->parser_->get().body());
                              self->turn_ = {};
                              beast::get_lowest_layer(self->stream_).expires_never();
                              self->serve();
                            });
  }

  void too_large() { write({413, "text/plain", "the body is too large\n"}, true); }

  void serve() {
    std::optional<Response> response = shared_.handlers.serve(request_, turn_);
    if (response) return write(std::move(*response), !parser_->keep_alive());
    ++turn_.calls;
    timer_.expires_after(std::chrono::milliseconds(shared_.handlers.park_ms));
    timer_.async_wait([self = this->shared_from_this()](Code error) {
      if (error) return self->end();
      self->serve();
    });
  }

  void write(Response response, bool close) {
    answer_ = {};
    answer_.version(11);
    answer_.result(static_cast<unsigned>(response.status));
    answer_.set(beast::http::field::content_type, response.type);
    for (const auto& [name, value] : response.headers) answer_.insert(name, value);
    answer_.body() = request_.method == "HEAD" ? "" : std::move(response.body);
    answer_.keep_alive(!close);
    answer_.prepare_payload();
    patience(shared_.options.body_s);
    beast::http::async_write(stream_, answer_,
                             [self = this->shared_from_this(), close](Code error, size_t) {
                               if (error) return self->end();
                               if (close) return self->linger();
                               self->read_head(self->shared_.options.idle_s);
                             });
  }

  // A client that is still sending would lose the answer if the connection closed with unread data
  // in our buffers: further input is discarded, for a while and up to a limit.
  void linger() {
    end();
    patience(shared_.options.head_s);
    drain();
  }

  void drain() {
    constexpr size_t kChunk = 64 << 10, kMost = 64U << 20;
    thrown_away_.resize(kChunk);
    beast::get_lowest_layer(stream_).async_read_some(
        asio::buffer(thrown_away_), [self = this->shared_from_this()](Code error, size_t size) {
          self->drained_ += size;
          if (!error && self->drained_ < kMost) self->drain();
        });
  }

  void end() {
    Code ignored;
    beast::get_lowest_layer(stream_).socket().shutdown(Tcp::socket::shutdown_send, ignored);
  }

  Stream stream_;
  Shared& shared_;
  asio::steady_timer timer_;
  std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Request request_;
  Turn turn_;
  std::vector<char> thrown_away_;
  size_t drained_ = 0;
  beast::http::response<beast::http::string_body> answer_;
};

class BeastServer : public Server {
 public:
  BeastServer(const ServerOptions& options, Handlers handlers)
      : shared_(options, std::move(handlers)),
        tls_(asio::ssl::context::tls_server),
        acceptor_(context_),
        later_(context_) {
    shared_.options.most_connections = most_connections(shared_.options.most_connections);
  }
  ~BeastServer() override { stop(); }

  Status listen() {
    Code error;
    if (!shared_.options.certificate.empty()) {
      if (const Status loaded = load_certificate(); !loaded) return loaded.error();
    }
    const auto address = asio::ip::make_address(
        shared_.options.host == "localhost" ? "127.0.0.1" : shared_.options.host, error);
    if (error)
      return Error{"'" + shared_.options.host + "' is no address to listen at",
                   "give an IP address, as in 127.0.0.1:8700"};
    const Tcp::endpoint endpoint(address, shared_.options.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return Error{"cannot listen at " + shared_.options.host + ":" +
                       std::to_string(shared_.options.port) + ": " + error.message(),
                   "is another hive running there?"};
    port_ = acceptor_.local_endpoint(error).port();
    accept();
    for (int i = 0; i < shared_.options.threads; ++i)
      threads_.emplace_back([this] { context_.run(); });
    return Ok{};
  }

  uint16_t port() const override { return port_; }
  uint32_t connections() const override { return shared_.connections; }
  void stop() override {
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  Status load_certificate() {
    Code error;
    tls_.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                         asio::ssl::context::no_tlsv1_1,
                     error);
    if (!error) tls_.use_certificate_chain_file(shared_.options.certificate, error);
    if (error)
      return Error{
          "cannot use the certificate " + shared_.options.certificate + ": " + error.message(),
          "it must be a file in PEM form"};
    tls_.use_private_key_file(shared_.options.key, asio::ssl::context::pem, error);
    if (error)
      return Error{"cannot use the key " + shared_.options.key + ": " + error.message(),
                   "it must be the certificate's, in PEM form"};
    return Ok{};
  }

  void accept() {
    acceptor_.async_accept(asio::make_strand(context_), [this](Code error, Tcp::socket socket) {
      if (!error) welcome(std::move(socket));
      if (error == asio::error::operation_aborted) return;
      if (!error) return accept();
      // No descriptor is left: accepting the next connection would fail again at once.
      constexpr auto kAWhile = std::chrono::milliseconds(20);
      (void)shared_.strangers.dismiss_first();
      later_.expires_after(kAWhile);
      later_.async_wait([this](Code stopped) {
        if (!stopped) accept();
      });
    });
  }

  void welcome(Tcp::socket socket) {
    if (++shared_.connections > shared_.options.most_connections &&
        !shared_.strangers.dismiss_first()) {
      --shared_.connections;
      return;
    }
    Code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    if (shared_.options.certificate.empty()) {
      std::make_shared<Session<beast::tcp_stream>>(beast::tcp_stream(std::move(socket)), shared_)
          ->begin();
    } else {
      std::make_shared<Session<Tls>>(Tls(beast::tcp_stream(std::move(socket)), tls_), shared_)
          ->begin();
    }
  }

  Shared shared_;
  asio::ssl::context tls_;
  asio::io_context context_;
  Tcp::acceptor acceptor_;
  asio::steady_timer later_;
  std::vector<std::thread> threads_;
  uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handlers handlers) {
  auto server = std::make_unique<BeastServer>(options, std::move(handlers));
  if (const Status listening = server->listen(); !listening) return listening.error();
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace deadheat::hive::http
