// What every part needs of gcc. gcc's headers must come in this order, and before the C++
// library's, which they poison.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gcc-plugin.h"
//
#include "plugin-version.h"
//
#include "tree.h"
//
#include "gimple.h"
#include "stringpool.h"
//
#include "attribs.h"
#include "basic-block.h"
#include "cfghooks.h"
#include "cgraph.h"
#include "diagnostic-core.h"
#include "fold-const.h"
#include "gimple-iterator.h"
#include "gimple-ssa.h"
#include "gimplify-me.h"
#include "gimplify.h"
#include "ssa.h"
#include "tree-cfg.h"
#include "tree-eh.h"
#include "tree-pass.h"
#include "tree-phinodes.h"
#include "tree-ssa-alias.h"
#include "tree-ssa-operands.h"
#include "tree-ssanames.h"
