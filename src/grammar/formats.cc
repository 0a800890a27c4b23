#include <array>
#include <string_view>

#include "grammar/string_rule.h"

namespace skald::grammar {

namespace {

// RFC 3339, section 5.6, with the calendar: the days of the months, and of February in leap years.
// No year 0, which the calendars of some readers lack.
constexpr std::string_view kDate =
    R"re(^(((000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])re"
    R"re()|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))|(\d\d(0[48]|[2468][048]|[13)re"
    R"re(579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29))$)re";

// RFC 3339: with seconds and an offset. No leap second, which most readers refuse.
constexpr std::string_view kTime =
    R"re(^(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))$)re";

// RFC 3339: both, with a T.
constexpr std::string_view kDateTime =
    R"re(^(((000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])re"
    R"re()|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))|(\d\d(0[48]|[2468][048]|[13)re"
    R"re(579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d()re"
    R"re(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))$)re";

// RFC 3339, appendix A. At most 9 digits: no loop of digits is endless.
constexpr std::string_view kDuration =
    R"re(^(P(\d{1,9}W|(\d{1,9}Y(\d{1,9}M(\d{1,9}D)?)?|\d{1,9}M(\d{1,9}D)?|\d{1,9}D)(T(\d{1,9})re"
    R"re(H(\d{1,9}M(\d{1,9}S)?)?|\d{1,9}M(\d{1,9}S)?|\d{1,9}S))?|T(\d{1,9}H(\d{1,9}M(\d{1,9}S)re"
    R"re()?)?|\d{1,9}M(\d{1,9}S)?|\d{1,9}S)))$)re";

// RFC 1123: labels of letters, digits and inner dashes. At most 8 of at most 30: below the 253
// characters of a name, and below the 63 of a label.
constexpr std::string_view kHostname =
    R"re(^([A-Za-z0-9]([A-Za-z0-9-]{0,28}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,28}[A-Za-)re"
    R"re(z0-9])?){0,7})$)re";

// RFC 5322: a dot-atom, and a hostname.
constexpr std::string_view kEmail =
    R"re(^([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A)re"
    R"re(-Za-z0-9-]{0,28}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,28}[A-Za-z0-9])?){0,7})$)re";

// RFC 2673, section 3.2: four decimal numbers.
constexpr std::string_view kIpv4 =
    R"re(^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3})$)re";

// RFC 3986, IPv6address: groups of hexadecimal digits, :: once in the place of zeros.
constexpr std::string_view kIpv6 =
    R"re(^(([0-9A-Fa-f]{1,4}:){6}([0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|(25[0-5]|2[0-4]\d|1\d\d|[)re"
    R"re(1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3})|::([0-9A-Fa-f]{1,4}:){5}([0-9A-Fa-)re"
    R"re(f]{1,4}:[0-9A-Fa-f]{1,4}|(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d)re"
    R"re(|[1-9]?\d)){3})|([0-9A-Fa-f]{1,4})?::([0-9A-Fa-f]{1,4}:){4}([0-9A-Fa-f]{1,4}:[0-9A-F)re"
    R"re(a-f]{1,4}|(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}))re"
    R"re(|(([0-9A-Fa-f]{1,4}:){0,1}[0-9A-Fa-f]{1,4})?::([0-9A-Fa-f]{1,4}:){3}([0-9A-Fa-f]{1,4)re"
    R"re(}:[0-9A-Fa-f]{1,4}|(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9])re"
    R"re(?\d)){3})|(([0-9A-Fa-f]{1,4}:){0,2}[0-9A-Fa-f]{1,4})?::([0-9A-Fa-f]{1,4}:){2}([0-9A-)re"
    R"re(Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\)re"
    R"re(d\d|[1-9]?\d)){3})|(([0-9A-Fa-f]{1,4}:){0,3}[0-9A-Fa-f]{1,4})?::[0-9A-Fa-f]{1,4}:([0)re"
    R"re(-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}|(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\)re"
    R"re(d|1\d\d|[1-9]?\d)){3})|(([0-9A-Fa-f]{1,4}:){0,4}[0-9A-Fa-f]{1,4})?::([0-9A-Fa-f]{1,4)re"
    R"re(}:[0-9A-Fa-f]{1,4}|(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9])re"
    R"re(?\d)){3})|(([0-9A-Fa-f]{1,4}:){0,5}[0-9A-Fa-f]{1,4})?::[0-9A-Fa-f]{1,4}|(([0-9A-Fa-f)re"
    R"re(]{1,4}:){0,6}[0-9A-Fa-f]{1,4})?::)$)re";

// RFC 4122.
constexpr std::string_view kUuid = R"re(^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$)re";

struct Format {
  std::string_view name;
  std::string_view pattern;
};

constexpr std::array<Format, 9> kFormats = {{{"date", kDate},
                                             {"time", kTime},
                                             {"date-time", kDateTime},
                                             {"duration", kDuration},
                                             {"hostname", kHostname},
                                             {"email", kEmail},
                                             {"ipv4", kIpv4},
                                             {"ipv6", kIpv6},
                                             {"uuid", kUuid}}};

}  // namespace

std::string_view FormatPattern(std::string_view format) {
  for (const Format& known : kFormats)
    if (known.name == format) return known.pattern;
  return {};
}

}  // namespace skald::grammar
