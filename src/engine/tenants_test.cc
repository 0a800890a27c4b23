#include "engine/tenants.h"

#include <gtest/gtest.h>

namespace skald::engine {
namespace {

Request Of(int64_t tenant, int32_t share = 1) {
  Request request;
  request.tenant = tenant;
  request.tenant_share = share;
  return request;
}

TEST(Tenants, UseTheirRowsOverTheirShare) {
  Tenants tenants;
  Tenant* one = tenants.Enter(Of(1));
  Tenant* two = tenants.Enter(Of(2, 4));
  one->view.Charge(100);
  two->view.Charge(400);
  EXPECT_EQ(one->view.used, 100 * kTenantScale);
  EXPECT_EQ(two->view.used, one->view.used);
}

TEST(Tenants, LiveAsLongAsARequestOfTheirs) {
  Tenants tenants;
  Tenant* one = tenants.Enter(Of(1));
  Tenant* two = tenants.Enter(Of(2));
  EXPECT_EQ(tenants.Enter(Of(1)), one);
  tenants.Leave(one);
  EXPECT_EQ(tenants.all().size(), 2u);
  tenants.Leave(one);
  ASSERT_EQ(tenants.all().size(), 1u);
  EXPECT_EQ(tenants.all()[0].get(), two);
  EXPECT_EQ(two->index, 0);
}

// Who comes, or comes back, starts where the others are: neither ahead nor with years to its
// credit.
TEST(Tenants, TimeWithoutRequestsIsNotSavedUp) {
  Tenants tenants;
  Tenant* one = tenants.Enter(Of(1));
  tenants.Enter(Of(2));
  one->view.Charge(1'000'000);
  tenants.Advance(one->view.used);
  EXPECT_EQ(tenants.Enter(Of(3))->view.used, one->view.used);
  Tenant* two = tenants.Enter(Of(2));
  EXPECT_EQ(one->view.used - two->view.used, Tenants::kMostCredit * kTenantScale);
}

}  // namespace
}  // namespace skald::engine
