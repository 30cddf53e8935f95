// @module-tag long
// One file for all suites that need a control plane: test files share nothing, and each would start its own.
import './suites/crd.ts';
import './suites/chart.ts';
import './suites/prepare.ts';
import './suites/helm-upgrade.ts';
import './suites/informers.ts';
import './suites/lease.ts';
import './suites/controller.ts';
import './suites/satellite.ts';
import './suites/scale-down.ts';
