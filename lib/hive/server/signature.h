// Signatures of builds: Ed25519. The private key belongs to whoever builds and never reaches the
// hive; whoever fetches a build has the public key from him, not from the hive.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace deadheat::hive::server {

struct KeyPair {
  std::string secret, open;  // PEM
};
KeyPair make_key_pair();

// What is signed: which program, build and version these bytes are.
std::string build_statement(const std::string& program, const std::string& build_id,
                            const std::string& version, const std::string& digest);
Result<std::string> sign(const std::string& secret_pem, const std::string& text);  // hex
Status verify(const std::string& open_pem, const std::string& text, const std::string& signature);

// HMAC-SHA256, in hex: how receivers of web hooks know that the hive spoke.
std::string keyed_hash(const std::string& text, const std::string& secret);

}  // namespace deadheat::hive::server
