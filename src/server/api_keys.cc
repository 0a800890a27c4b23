#include "server/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
namespace skald::server {

namespace {

ApiKeys::Hash Sha256(std::string_view bytes) {
  ApiKeys::Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
  return hash;
}

// What numbers are derived for: none of them tells another.
constexpr char kForCache = 'c';
constexpr char kForKey = 'k';
constexpr char kForName = 'n';

Status AtLine(int64_t line, const std::string& message) {
  return Status(ErrorCode::kInvalidArgument, "line " + std::to_string(line) + ": " + message);
}

}  // namespace

ApiKeys::ApiKeys(std::string_view secret) : secret_(Sha256(secret)) {
  // The range of the API is the only bound on its priorities.
  TenantRights all = {.priority = std::numeric_limits<int64_t>::min(), .admin = true};
  tenants_.push_back(std::make_shared<const Tenant>(Tenant{kEveryone, {}, all}));
}

Result<ApiKeys> ApiKeys::Parse(std::string_view lines, std::string_view secret) {
  ApiKeys keys(secret);
  keys.tenants_.clear();
  int64_t number = 0;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    Result<std::optional<KeyRow>> row = ReadKeyRow(line);
    if (!row.ok()) return AtLine(number, row.status().message());
    if (!*row) continue;
    if (const Status added = keys.Add(**row, number); !added.ok())
      return AtLine(number, added.message());
  }
  if (keys.empty()) return Status(ErrorCode::kInvalidArgument, "there is no key in it");
  return keys;
}

Status ApiKeys::Add(const KeyRow& row, int64_t line) {
  const Hash hash = Sha256(row.key);
  const std::string_view hash_bytes(reinterpret_cast<const char*>(hash.data()), hash.size());
  Tenant tenant = {.name = row.name, .rights = row.rights};
  tenant.id = static_cast<TenantId>(row.name.empty() ? Derive(kForKey, hash_bytes)
                                                     : Derive(kForName, row.name));
  // 0 is everyone.
  if (tenant.id == kEveryone) tenant.id = 1;
  if (tenant.name.empty()) tenant.name = "line-" + std::to_string(line);

  const auto same_key =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& key) { return key.hash == hash; });
  const auto same_tenant = std::find_if(tenants_.begin(), tenants_.end(),
                                        [&](const auto& each) { return each->id == tenant.id; });
  if (same_key != keys_.end() && tenants_[same_key->tenant]->id != tenant.id)
    return Status(ErrorCode::kInvalidArgument, "its key stands above with another name");
  if (same_tenant != tenants_.end() && (*same_tenant)->rights != tenant.rights)
    return Status(ErrorCode::kInvalidArgument,
                  "its settings are not those of the row of the same key or name above");
  if (same_key != keys_.end()) return Ok();
  keys_.push_back({hash, static_cast<size_t>(same_tenant - tenants_.begin())});
  if (same_tenant == tenants_.end())
    tenants_.push_back(std::make_shared<const Tenant>(std::move(tenant)));
  return Ok();
}

std::shared_ptr<const Tenant> ApiKeys::Find(std::string_view key) const {
  if (keys_.empty()) return tenants_.front();
  if (key.size() > kKeyMaxBytes) return nullptr;
  const Hash hash = Sha256(key);
  std::optional<size_t> found;
  for (const Key& each : keys_) {
    if (CRYPTO_memcmp(each.hash.data(), hash.data(), hash.size()) == 0) found = each.tenant;
  }
  return found ? tenants_[*found] : nullptr;
}

uint64_t ApiKeys::CacheNamespace(TenantId tenant, std::string_view salt) const {
  std::string input;
  // Of fixed length, so that no tenant and salt together read like another pair.
  for (int shift = 0; shift < 64; shift += 8)
    input += static_cast<char>(static_cast<uint64_t>(tenant) >> shift);
  input += salt;
  return Derive(kForCache, input);
}

uint64_t ApiKeys::Derive(char purpose, std::string_view bytes) const {
  std::string input(reinterpret_cast<const char*>(secret_.data()), secret_.size());
  input += purpose;
  input += bytes;
  const Hash hash = Sha256(input);
  uint64_t number = 0;
  std::memcpy(&number, hash.data(), sizeof(number));
  return number;
}

}  // namespace skald::server
