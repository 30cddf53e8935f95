import { expect, test } from 'vitest';
import { kindOfProcess, meanTime, ownTimeOf, timePer, withoutIdle } from '../../bench/speed/process-cost.ts';

test('timePer divides the processor time of each service and of the browsers by the number of captures', () => {
  const before = { own: { renderer: 1000, front: 200 }, browsers: 5000 };
  const after = { own: { renderer: 1300, front: 260 }, browsers: 6200 };
  const time = timePer(before, after, 12);
  expect(time).toEqual({ own: { renderer: 25, front: 5 }, browsers: 100 });
  expect(ownTimeOf(time)).toBe(30);
});

test('withoutIdle subtracts the processor time that the processes use at rest', () => {
  const idle = { own: { renderer: 0.02, front: 0.01 }, browsers: 0.05 };
  const time = withoutIdle({ own: { renderer: 25, front: 5 }, browsers: 100 }, idle, 200);
  expect(time).toEqual({ own: { renderer: 21, front: 3 }, browsers: 90 });
});

test('meanTime weights each block by its number of captures', () => {
  const blocks = [
    { time: { own: { renderer: 10 }, browsers: 100 }, captures: 30 },
    { time: { own: { renderer: 20 }, browsers: 140 }, captures: 10 },
  ];
  expect(meanTime(blocks)).toEqual({ own: { renderer: 12.5 }, browsers: 110 });
});

test.each([
  ['/usr/bin/chromium-headless-shell\0--headless\0', 'Chromium: browser'],
  ['/usr/bin/chromium-headless-shell --type=zygote --no-sandbox', 'Chromium: zygote'],
  ['/usr/bin/chromium-headless-shell --type=renderer --lang=en', 'Chromium: renderer'],
  ['chromium --type=gpu-process --no-sandbox', 'Chromium: gpu-process'],
  ['chromium --type=utility --utility-sub-type=network.mojom.NetworkService', 'Chromium: network'],
  ['/usr/bin/node\0--max-semi-space-size=2\0/app/services/front/main.ts', 'front'],
  ['/usr/bin/node\0/app/deploy/local/guard.mjs\0nats-server', 'guard'],
  ['/cache/nats-server/2.15.2/nats-server\0-c\0/data/nats-server.conf', 'NATS'],
  ['/usr/bin/node\0deploy/local/bootstrap.mjs\0deploy/local/start.ts', 'npm start'],
])('the process "%s" is of the kind "%s"', (commandLine, kind) => {
  expect(kindOfProcess(commandLine)).toBe(kind);
});
