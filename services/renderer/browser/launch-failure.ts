import type { LaunchOptions } from './launch.ts';

/** Puts a failed launch into words that tell an operator what to do. */
export function explainLaunchFailure(error: unknown, { executablePath, sandbox }: LaunchOptions): Error {
  const text = error instanceof Error ? error.message : String(error);
  const explained = (message: string) => new Error(message, { cause: error });
  if (/executable doesn't exist|ENOENT/i.test(text)) {
    return explained(`There is no browser at ${executablePath}. Install Chromium, or set its path.`);
  }
  if (/EACCES|permission denied/i.test(text)) return explained(`${executablePath} may not be executed.`);
  if (sandbox === 'on' && /running as root without --no-sandbox/i.test(text)) {
    return explained(
      'Chromium keeps no sandbox for root. Run as another user, or set WEBCAPTURE_CHROMIUM_SANDBOX=off and isolate the process by other means.',
    );
  }
  if (sandbox === 'on' && /sandbox|clone|unshare|namespace|Operation not permitted/i.test(text)) {
    return explained(
      'Chromium cannot set up its sandbox: it needs user namespaces, and a seccomp profile that lets a process without privileges call clone, unshare and chroot. Allow them, or set WEBCAPTURE_CHROMIUM_SANDBOX=off and isolate the process by other means.',
    );
  }
  const missing = /error while loading shared libraries: ([^:\s]+)/.exec(text)?.[1];
  if (missing !== undefined) return explained(`${executablePath} lacks the library ${missing}. Install it.`);
  return explained(`${executablePath} could not be started.`);
}
