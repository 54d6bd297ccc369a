// Tokens, password hashes and sessions. Secrets are 256 random bits, so one round of SHA-256
// suffices; comparisons take constant time.
//
//   token    PROGRAM:ID:SECRET   what people and agents hold; shown once
//   session  PROGRAM:ID:EXPIRY:SIGNATURE   what the page's cookie holds; signed by the hive's
//   secret
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/hive/store/store.h"

namespace deadheat::hive::server {

std::string random_hex(size_t bytes);
std::string hash_of(std::string_view secret);
bool same(std::string_view a, std::string_view b);

// Lower-case letters, digits, '.', '_', '-'; 64 at most.
bool is_program_name(std::string_view name);

struct TokenText {
  std::string program, id, secret;
};
std::optional<TokenText> parse_token(std::string_view text);

// A new token: what to store, and the text to hand out.
struct NewToken {
  store::Token stored;
  std::string text;
};
NewToken make_token(const std::string& program, store::Role role, bool trusted,
                    const std::string& label, int64_t now_ms, int64_t expires_ms);

std::string make_session(const store::Token& token, int64_t expires_ms, const std::string& secret);
struct SessionText {
  std::string program, id;
};
std::optional<SessionText> check_session(std::string_view text, int64_t now_ms,
                                         const std::string& secret);

}  // namespace deadheat::hive::server
