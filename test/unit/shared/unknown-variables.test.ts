import { expect, test } from 'vitest';
import { unknownVariables } from '@webcapture/shared/runtime/unknown-variables.ts';

const messagesOf = (environment: Record<string, string>) => unknownVariables(environment).map(({ message }) => message);

test.each([
  ['WEBCAPTURE_SLOT', 'WEBCAPTURE_SLOTS'],
  ['WEBCAPTURE_NATS_URLS', 'WEBCAPTURE_NATS_URL'],
  ['WEBCAPTURE_NATS_PASWORD', 'WEBCAPTURE_NATS_PASSWORD'],
  ['WEBCAPTURE_LOGLEVEL', 'WEBCAPTURE_LOG_LEVEL'],
  ['WEBCAPTURE_PORT', 'PORT'],
])('%s is not known, and %s is the nearest name', (variable, nearest) => {
  expect(unknownVariables({ [variable]: '4' })).toEqual([
    { variable, message: `${variable} is not known; did you mean ${nearest}?` },
  ]);
});

test('a variable without a near name gets no suggestion', () => {
  expect(messagesOf({ WEBCAPTURE_XYZZY: '1' })).toEqual(['WEBCAPTURE_XYZZY is not known']);
});

test('a message does not contain the value, which may be a secret', () => {
  expect(messagesOf({ WEBCAPTURE_ADMIN_TOKENS: 'hunter2' }).join('')).not.toContain('hunter2');
});

test.each([
  ['of the front', 'WEBCAPTURE_QUEUE_TIMEOUT'],
  ['of the renderer', 'WEBCAPTURE_SLOTS'],
  ['of the controller', 'WEBCAPTURE_LEASE'],
  ['of npm start', 'WEBCAPTURE_DATA_DIR'],
  ['of the command line', 'WEBCAPTURE_PROFILE'],
  ['of the tests', 'WEBCAPTURE_TEST_STORE'],
  ['of other software', 'OTHER_SLOT'],
])('a variable %s is known to every process', (_, variable) => {
  expect(messagesOf({ [variable]: '1' })).toEqual([]);
});

test('the addresses of Services, which Kubernetes gives to pods, are ignored', () => {
  const links = {
    WEBCAPTURE_FRONT_SERVICE_HOST: '10.0.0.1',
    WEBCAPTURE_FRONT_SERVICE_PORT_HTTP: '80',
    WEBCAPTURE_FRONT_PORT: 'tcp://10.0.0.1:80',
    WEBCAPTURE_FRONT_PORT_80_TCP: 'tcp://10.0.0.1:80',
    WEBCAPTURE_FRONT_PORT_80_TCP_ADDR: '10.0.0.1',
  };
  expect(messagesOf(links)).toEqual([]);
});
