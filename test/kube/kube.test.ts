// @module-tag long
// One file for all that needs a control plane: files of tests share nothing, and each would start one of its own.
import './suites/crd.ts';
import './suites/chart.ts';
import './suites/prepare.ts';
import './suites/helm-upgrade.ts';
import './suites/informers.ts';
import './suites/lease.ts';
import './suites/controller.ts';
import './suites/satellite.ts';
import './suites/scale-down.ts';
