import { certutil } from './certutil.ts';
import { chromium, chromiumHeadlessShell } from './chromium.ts';
import { controllerManager, controlPlane } from './control-plane.ts';
import { fakeGcsServer } from './fake-gcs-server.ts';
import { faketime } from './faketime.ts';
import { fonts } from './fonts.ts';
import { go } from './go.ts';
import { helm } from './helm.ts';
import { php, python } from './languages.ts';
import { natsCli } from './nats-cli.ts';
import { natsServer } from './nats-server.ts';
import { operatorCrds } from './operator-crds.ts';
import { otelCollector } from './otel-collector.ts';
import { prometheus } from './prometheus.ts';
import type { Tool } from './tool.ts';
import { versitygw } from './versitygw.ts';

/**
 * Every tool that `npm start` or `npm test` may need. To add a tool, create a file in this folder and add a line below.
 */
export const registry: readonly Tool[] = [
  natsServer,
  natsCli,
  chromiumHeadlessShell,
  chromium,
  certutil,
  fonts,
  go,
  fakeGcsServer,
  versitygw,
  helm,
  controlPlane,
  controllerManager,
  operatorCrds,
  otelCollector,
  prometheus,
  faketime,
  python,
  php,
];
