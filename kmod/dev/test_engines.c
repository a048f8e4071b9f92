// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters of modules that are built for tests.
 */
#include <linux/moduleparam.h>

#include "../engine/engine.h"
#include "wort_dev.h"

module_param_named(mandatory, wort_engine_mandatory, bool, 0444);
MODULE_PARM_DESC(mandatory, "do without the optional functions of engines");

module_param_named(gates_rest_ms, wort_gates_rest_ms, uint, 0644);
MODULE_PARM_DESC(gates_rest_ms,
		 "after how long without atomic batches gates go");
