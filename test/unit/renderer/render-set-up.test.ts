import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { describe, expect, test } from 'vitest';
import { rendered, type Rendered } from '../../harness/rendering.ts';

describe('the set-up of a rendering', () => {
  test('switches off scripts of the page and of its frames', async () => {
    const name = 'Emulation.setScriptExecutionDisabled';
    const { stand } = await rendered({ javaScript: false });
    expect(stand.argumentsOf(name)).toEqual([[{ value: true }]]);
    expect(stand.sessionCalls).toContainEqual([name, { value: true }]);
    expect((await rendered()).stand.names).not.toContain(name);
  });

  test('starts blocking if the capture blocks anything', async () => {
    const { stand } = await rendered({ block: { ads: true, trackers: false, media: false, cookieBanners: false } });
    expect(stand.sessionCalls.map(([name]) => name)).toContain('Fetch.enable');
    expect((await rendered()).stand.sessionCalls).toEqual([]);
  });

  test('opens one session for the options that prepare the targets of the page', async () => {
    const block = { ads: true, trackers: false, media: false, cookieBanners: false };
    const { stand } = await rendered({ block, javaScript: false, locale: 'de-DE' });
    const names = stand.sessionCalls.map(([name]) => name);
    expect(names.filter((name) => name === 'newCDPSession')).toHaveLength(1);
    expect(names.filter((name) => name === 'Target.setAutoAttach')).toHaveLength(1);
    const [fetch, scripts, agent] = [
      'Fetch.enable',
      'Emulation.setScriptExecutionDisabled',
      'Emulation.setUserAgentOverride',
    ].map((name) => names.indexOf(name));
    expect([fetch, scripts, agent]).toEqual([fetch, scripts, agent].toSorted((a = 0, b = 0) => a - b));
  });

  test('opens that session after all others', async () => {
    const { stand } = await rendered({
      failOn: { consoleErrors: true },
      locale: 'de-DE',
      request: { secrets: { css: 'p {}', headers: { 'X-Own': 'value' } } },
    });
    const names = stand.sessionCalls.map(([name]) => name);
    expect(names.lastIndexOf('newCDPSession')).toBeLessThan(names.indexOf('Target.setAutoAttach'));
  });

  test('listens to the console only for failOn', async () => {
    const listens = async (options: Rendered) => (await rendered(options)).stand.sessionCalls.length > 0;
    expect(await listens({ failOn: { consoleErrors: true } })).toBe(true);
    expect(await listens({ failOn: { blank: true } })).toBe(false);
    expect(await listens({})).toBe(false);
  });

  test('gives requests the time of the navigation', async () => {
    expect((await rendered({ timeout: 1234 })).stand.argumentsOf('setResponseTimeout')).toEqual([[1234]]);
  });

  const settingSecrets = (error: Error) =>
    rendered({
      request: { secrets: { css: 'p {}', headers: { 'X-Own': 'value' } } },
      answers: { newCDPSession: () => Promise.reject(error), responds: true },
    });

  test('does not pass on errors that quote secrets', async () => {
    const message = expect.stringContaining('did not accept the headers, cookies, auth, css or session');
    const refused = await settingSecrets(new Error('quotes p {}'));
    expect(refused.failure).toMatchObject({ code: 'CAPTURE_FAILED', causedBy: 'client', message });
    expect(refused.failure?.cause).toBeUndefined();
    const cause = new DeadlineError('setting the secrets', 1);
    expect((await settingSecrets(cause)).failure).toMatchObject({ causedBy: 'service', message, cause });
    const own = new ServiceError('CAPTURE_FAILED', 'cookies: refused', { causedBy: 'client' });
    expect((await settingSecrets(own)).failure).toBe(own);
  });

  test('runs the script of the capture after the navigation', async () => {
    const exceptionDetails = { text: 'Uncaught', lineNumber: 0, exception: { value: 'thrown' } };
    const answers = { 'Runtime.evaluate': { exceptionDetails }, waitForReveals: 0 };
    const { rendering, stand } = await rendered({ request: { secrets: { script: 'throw 1' } }, answers });
    expect(rendering?.report).toMatchObject({ scriptError: 'thrown' });
    expect(stand.names.indexOf('goto')).toBeLessThan(stand.names.indexOf('Runtime.evaluate'));
    // A page whose script has run may still change.
    expect(stand.names).toContain('waitForContent');
    const without = await rendered({ request: { secrets: {} } });
    expect(without.rendering?.report).not.toHaveProperty('scriptError');
    expect(without.stand.names).not.toContain('Runtime.evaluate');
  });
});
