#include "lib/hive/server/credentials.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "lib/base/hex_digits.h"
#include "lib/base/text.h"

namespace deadheat::hive::server {
namespace {

std::string signature_of(const std::string& text, const std::string& secret) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes = {};
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
  return hex_digits({bytes.data(), size});
}

}  // namespace

std::string random_hex(size_t bytes) {
  std::vector<unsigned char> random(bytes);
  // Without randomness there is no secret worth the name.
  if (::RAND_bytes(random.data(), static_cast<int>(bytes)) != 1) std::abort();
  return hex_digits(random);
}

std::string hash_of(std::string_view secret) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes = {};
  unsigned size = 0;
  ::EVP_Digest(secret.data(), secret.size(), bytes.data(), &size, ::EVP_sha256(), nullptr);
  return hex_digits({bytes.data(), size});
}

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_program_name(std::string_view name) {
  constexpr size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && name[0] != '.' && name[0] != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") ==
             std::string_view::npos;
}

std::optional<TokenText> parse_token(std::string_view text) {
  const auto parts = split(text, ':');
  constexpr size_t kLongest = 128;
  if (parts.size() != 3 || parts[1].empty() || parts[2].empty()) return std::nullopt;
  if (parts[0] != "*" && !is_program_name(parts[0])) return std::nullopt;
  if (parts[1].size() > kLongest || parts[2].size() > kLongest) return std::nullopt;
  return TokenText{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

NewToken make_token(const std::string& program, store::Role role, bool trusted,
                    const std::string& label, int64_t now_ms, int64_t expires_ms) {
  constexpr size_t kIdBytes = 6, kSecretBytes = 32;
  NewToken token;
  const std::string secret = random_hex(kSecretBytes);
  token.stored.program = program;
  token.stored.id = random_hex(kIdBytes);
  token.stored.secret_hash = hash_of(secret);
  token.stored.role = role;
  token.stored.trusted = trusted;
  token.stored.label = label;
  token.stored.created_ms = now_ms;
  token.stored.expires_ms = expires_ms;
  token.text = program + ":" + token.stored.id + ":" + secret;
  return token;
}

std::string make_session(const store::Token& token, int64_t expires_ms, const std::string& secret) {
  const std::string text = token.program + ":" + token.id + ":" + std::to_string(expires_ms);
  return text + ":" + signature_of(text, secret);
}

std::optional<SessionText> check_session(std::string_view text, int64_t now_ms,
                                         const std::string& secret) {
  const auto parts = split(text, ':');
  if (parts.size() != 4) return std::nullopt;
  const std::string said(text.substr(0, text.rfind(':')));
  if (!same(signature_of(said, secret), parts[3])) return std::nullopt;
  if (std::strtoll(std::string(parts[2]).c_str(), nullptr, 10) < now_ms) return std::nullopt;
  return SessionText{std::string(parts[0]), std::string(parts[1])};
}

}  // namespace deadheat::hive::server
