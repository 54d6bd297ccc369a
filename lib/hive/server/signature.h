// Signatures of builds: Ed25519. The private key stays with the builder and never reaches the hive;
// a user who fetches a build gets the public key from the builder, not from the hive.
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

// HMAC-SHA256, in hex: lets receivers of web hooks verify that the hive is the sender.
std::string keyed_hash(const std::string& text, const std::string& secret);

}  // namespace deadheat::hive::server
