import type { RenderOptions } from '../api/capture-request.ts';
import { choiceVariable } from '../runtime/variables.ts';
import type { AccountRecord } from './accounts.ts';

/** The switch of the installation for the option `ignoreTlsErrors`. Fronts and controllers must have the same value. */
export const allowIgnoreTlsErrorsVariable = choiceVariable('WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS', ['true', 'false'], {
  default: 'false',
  meaning:
    'Allow `ignoreTlsErrors` in requests of the accounts that have `allowIgnoreTlsErrors`. Set it to the same value on fronts and controllers. See [certificates of staging servers](networks.md#certificates-of-staging-servers).',
});

/**
 * Returns a sentence that says why a capture may not ignore TLS errors, and who can allow it. Returns null if the capture may do it, or
 * does not request it. The operator can withdraw the permission at any time, so it is checked for each capture and for each refresh.
 *
 * @param isAllowedHere whether the installation allows it
 */
export function refusalToIgnoreTlsErrors(
  { ignoreTlsErrors }: Pick<RenderOptions, 'ignoreTlsErrors'>,
  { allowIgnoreTlsErrors: isAllowedForAccount = false }: Pick<AccountRecord, 'allowIgnoreTlsErrors'>,
  isAllowedHere: boolean,
): string | null {
  if (ignoreTlsErrors !== true || (isAllowedHere && isAllowedForAccount)) return null;
  const missing = [
    ...(isAllowedHere ? [] : ['set WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS=true for the service']),
    ...(isAllowedForAccount ? [] : ['set allowIgnoreTlsErrors of the account (PATCH /admin/accounts/{id})']),
  ];
  const where = [...(isAllowedHere ? [] : ['this service']), ...(isAllowedForAccount ? [] : ['this account'])];
  return `ignoreTlsErrors is not allowed for ${where.join(' and ')}. The operator can allow it: ${missing.join(', and ')}.`;
}
