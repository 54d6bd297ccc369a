#include "runtime/validate/infer.h"

#include "runtime/common/os.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

Record* records;

namespace {

// A site that runs over an array changes with every access. After so many changes it is left, until
// a validator asks again; one that began the program is there from the start.
constexpr uint32_t kEnoughChanges = 4096, kEnoughForValidator = 65536, kChangesAgain = 1024;
// Known accesses before a site rests: the first time, and when it was woken.
constexpr uint32_t kPatience = 4096, kPatienceAgain = 64;
// Why a site rests. A partner's change, or a new thread, is news only where nothing changed.
enum : uint32_t { kAwake = 0, kKnown = 1, kChanging = 2 };
struct Partner {
  uint32_t site, candidate;
};

Partner* partners;
// Sites put to rest since all were last woken. When the table is full, all sites are woken.
constexpr uint32_t kMaxResting = 1024;
uint32_t resting[kMaxResting];
uint32_t resting_count;
uint8_t* promoted;  // our own copy: others may write to the page's

void add_fact(uint8_t& fact, uint8_t bits) {
  if ((__atomic_load_n(&fact, __ATOMIC_RELAXED) & bits) != bits)
    __atomic_fetch_or(&fact, bits, __ATOMIC_RELAXED);
}

// Nothing more to learn: all candidates of the site are promoted.
void rest_if_done(uint32_t site) {
  const Record& record = records[site];
  for (uint32_t i = 0; i < record.partner_count; ++i)
    if (promoted[partners[record.partners + i].candidate] == 0) return;
  remove_state(site, DHV_STATE_INFER);
}

void wake(uint32_t site) {
  Record& record = records[site];
  if (__atomic_load_n(&record.rests, __ATOMIC_RELAXED) != kKnown) return;
  __atomic_store_n(&record.rests, uint32_t{kAwake}, __ATOMIC_RELAXED);
  if ((__atomic_load_n(&page()->switches, __ATOMIC_RELAXED) & DHV_SWITCH_INFER) != 0)
    add_state(site, DHV_STATE_INFER);
}

void rest(uint32_t site, uint32_t why) {
  Record& record = records[site];
  record.patience = kPatienceAgain;
  if ((__atomic_load_n(&states()[site], __ATOMIC_RELAXED) & DHV_STATE_JOB) != 0) return;
  count(why == kKnown ? page()->counters.rested : page()->counters.left_changing);
  remove_state(site, DHV_STATE_INFER);
  const uint32_t before = __atomic_exchange_n(&record.rests, why, __ATOMIC_RELAXED);
  if (why != kKnown || before == kKnown) return;
  const uint32_t slot = __atomic_fetch_add(&resting_count, 1, __ATOMIC_RELAXED);
  if (slot < kMaxResting) __atomic_store_n(&resting[slot], site, __ATOMIC_RELAXED);
}

void left_changing(uint32_t site, uint32_t changes) {
  const bool begun = __atomic_load_n(&page()->ready, __ATOMIC_RELAXED) != 0;
  const uint32_t enough = begun ? kEnoughForValidator : kEnoughChanges;
  if (changes < enough) return;
  __atomic_store_n(&records[site].changes, enough - kChangesAgain, __ATOMIC_RELAXED);
  rest(site, kChanging);
}

void compare(uint32_t site, uint64_t mine, size_t size, const Partner& partner, uint64_t other,
             uint32_t other_size) {
  if (other == 0 || __atomic_load_n(&promoted[partner.candidate], __ATOMIC_RELAXED) != 0) return;
  const uint64_t a = mine & kAddressMask, b = other & kAddressMask;
  if (a >= b + other_size || b >= a + size) return;
  const bool apart = mine >> kAddressBits != other >> kAddressBits;
  add_fact(candidate_facts()[partner.candidate],
           apart ? DHV_CANDIDATE_SAME_BYTES | DHV_CANDIDATE_PROMOTED : DHV_CANDIDATE_SAME_BYTES);
  if (!apart) return;
  __atomic_store_n(&promoted[partner.candidate], 1, __ATOMIC_RELAXED);
  rest_if_done(site);
  rest_if_done(partner.site);
}

}  // namespace

bool infer_start() {
  const size_t sites = site_count(), candidates = pair_count();
  records = static_cast<Record*>(map_memory(sites * sizeof(Record)));
  partners = static_cast<Partner*>(map_memory((2 * candidates + 1) * sizeof(Partner)));
  promoted = static_cast<uint8_t*>(map_memory(candidates + 1));
  if (records == nullptr || partners == nullptr || promoted == nullptr) return false;
  for (size_t i = 0; i < candidates; ++i)
    for (const uint32_t site : pairs()[i].sites) {
      if (site == 0 || site >= sites) return false;
      ++records[site].partner_count;
    }
  uint32_t next = 0;
  for (size_t site = 0; site < sites; ++site) {
    records[site].partners = next;
    next += records[site].partner_count;
    records[site].partner_count = 0;
    records[site].patience = kPatience;
  }
  for (uint32_t i = 0; i < candidates; ++i)
    for (int role = 0; role < 2; ++role) {
      Record& record = records[pairs()[i].sites[role]];
      partners[record.partners + record.partner_count++] = {pairs()[i].sites[1 - role], i};
    }
  return true;
}

void infer(Thread& self, uint32_t site, Address begin, size_t size) {
  Record& record = records[site];
  const uint64_t last = __atomic_load_n(&record.last, __ATOMIC_RELAXED);
  const uint64_t mine = word_of(self, begin);
  if (last == mine) {
    if (record.patience == 0 || record.patience > kPatience) rest(site, kKnown);
    return;
  }
  const uint32_t changes = __atomic_load_n(&record.changes, __ATOMIC_RELAXED) + 1;
  __atomic_store_n(&record.changes, changes, __ATOMIC_RELAXED);
  if (changes >= kEnoughChanges) left_changing(site, changes);
  __atomic_store_n(&record.size, static_cast<uint32_t>(size), __ATOMIC_RELAXED);
  __atomic_store_n(&record.last, mine, __ATOMIC_RELAXED);
  uint8_t fact = DHV_SITE_REACHED;
  if (last != 0 && last >> kAddressBits != mine >> kAddressBits) fact |= DHV_SITE_SEVERAL_THREADS;
  add_fact(site_facts()[site], fact);
  for (uint32_t i = 0; i < record.partner_count; ++i) {
    const Partner& partner = partners[record.partners + i];
    if (partner.site == site) {
      compare(site, mine, size, partner, last, static_cast<uint32_t>(size));
    } else {
      const Record& other = records[partner.site];
      wake(partner.site);
      compare(site, mine, size, partner, __atomic_load_n(&other.last, __ATOMIC_RELAXED),
              __atomic_load_n(&other.size, __ATOMIC_RELAXED));
    }
  }
}

bool is_promoted(uint32_t candidate) {
  return __atomic_load_n(&promoted[candidate], __ATOMIC_RELAXED) != 0;
}

void look_again() {
  const uint32_t many = __atomic_exchange_n(&resting_count, 0, __ATOMIC_RELAXED);
  if (many > kMaxResting) {
    for (uint32_t site = 1; site < site_count(); ++site) wake(site);
    return;
  }
  for (uint32_t i = 0; i < many; ++i) wake(__atomic_load_n(&resting[i], __ATOMIC_RELAXED));
}

void infer_after_fork() {
  resting_count = 0;
  for (uint32_t site = 0; site < site_count(); ++site) {
    records[site].last = records[site].changes = records[site].rests = 0;
    records[site].patience = kPatience;
  }
  for (uint32_t i = 0; i < pair_count(); ++i) promoted[i] = 0;
}

}  // namespace deadheat::runtime
