// SPDX-License-Identifier: GPL-2.0-only
/*
 * A parameter of modules that are built for tests.
 */
#include <linux/moduleparam.h>

#include "../engine/engine.h"

module_param_named(mandatory, wort_engine_mandatory, bool, 0444);
MODULE_PARM_DESC(mandatory, "do without the optional functions of engines");
