import type { StealthProvider } from './stealth-provider.ts';
import { commonSwitches } from './switches.ts';

/** Switches of which Chromium obeys the last one only, and those that would lead traffic past the egress proxy. */
const ours = [
  '--disable-features',
  '--proxy-server',
  '--proxy-bypass-list',
  '--proxy-pac-url',
  '--no-proxy-server',
  '--host-resolver-rules',
  '--user-data-dir',
  '--remote-debugging-port',
];

/**
 * All switches that a provider's browser is launched with: those of every browser, then its own.
 *
 * @throws Error that names the switches that a provider may not set
 */
export async function stealthSwitches(provider: StealthProvider): Promise<readonly string[]> {
  const own = await provider.switches();
  const refused = own.filter((each) => ours.includes(each.split('=')[0] ?? ''));
  if (refused.length > 0) {
    throw new Error(`The stealth provider ${provider.name} may not set ${refused.join(', ')}.`);
  }
  return [...commonSwitches, ...own];
}
