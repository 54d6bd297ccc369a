#include "lib/hive/server/signature.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lib/base/hex_digits.h"

namespace deadheat::hive::server {
namespace {

struct Free {
  void operator()(BIO* bio) const { ::BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { ::EVP_MD_CTX_free(context); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Bio memory(const std::string& text) {
  return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string content(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

// No key of ours has a password; asking a terminal for one would hang.
int no_password(char*, int, int, void*) { return 0; }

bool is_ed25519(const Key& key) { return key && ::EVP_PKEY_get_id(key.get()) == EVP_PKEY_ED25519; }

}  // namespace

KeyPair make_key_pair() {
  const Key key(::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const Bio secret(::BIO_new(::BIO_s_mem())), open(::BIO_new(::BIO_s_mem()));
  if (!key ||
      ::PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1 ||
      ::PEM_write_bio_PUBKEY(open.get(), key.get()) != 1)
    std::abort();  // without randomness or memory there is no key
  return {content(secret.get()), content(open.get())};
}

std::string build_statement(const std::string& program, const std::string& build_id,
                            const std::string& version, const std::string& digest) {
  // Lengths, so that no text of one field can look like another's.
  std::string text = "deadheat-build 1\n";
  for (const std::string* part : {&program, &build_id, &version, &digest})
    text += std::to_string(part->size()) + " " + *part + "\n";
  return text;
}

Result<std::string> sign(const std::string& secret_pem, const std::string& text) {
  const Key key(::PEM_read_bio_PrivateKey(memory(secret_pem).get(), nullptr, no_password, nullptr));
  if (!is_ed25519(key))
    return Error{"this is no private key for builds", "`deadheat hive key NAME` makes one"};
  const Context context(::EVP_MD_CTX_new());
  size_t size = 0;
  std::vector<unsigned char> signature;
  bool fine = ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
              ::EVP_DigestSign(context.get(), nullptr, &size, bytes_of(text), text.size()) == 1;
  signature.resize(size);
  fine = fine &&
         ::EVP_DigestSign(context.get(), signature.data(), &size, bytes_of(text), text.size()) == 1;
  if (!fine) return Error{"cannot sign with this key", ""};
  return hex_digits(signature);
}

Status verify(const std::string& open_pem, const std::string& text, const std::string& signature) {
  const Key key(::PEM_read_bio_PUBKEY(memory(open_pem).get(), nullptr, no_password, nullptr));
  if (!is_ed25519(key))
    return Error{"this is no public key for builds", "`deadheat hive key NAME` makes NAME.pub"};
  const auto bytes = bytes_of_hex(signature);
  const Context context(::EVP_MD_CTX_new());
  const bool fine =
      bytes && ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      ::EVP_DigestVerify(context.get(), bytes_of(*bytes), bytes->size(), bytes_of(text),
                         text.size()) == 1;
  if (!fine)
    return Error{"the signature is not by this key, or the build was changed",
                 "do not run it; ask its builder for the public key"};
  return Ok{};
}

std::string keyed_hash(const std::string& text, const std::string& secret) {
  std::vector<unsigned char> bytes(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(text),
         text.size(), bytes.data(), &size);
  bytes.resize(size);
  return hex_digits(bytes);
}

}  // namespace deadheat::hive::server
