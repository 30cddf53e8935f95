import { expect, test } from 'vitest';
import { refusalToIgnoreTlsErrors } from '@webcapture/shared/accounts/tls-errors.ts';

const asked = { ignoreTlsErrors: true };
const allowed = { allowIgnoreTlsErrors: true };
const byService = 'WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS=true for the service';
const byAccount = 'allowIgnoreTlsErrors of the account (PATCH /admin/accounts/{id})';

test('captures may ignore TLS errors where both the service and the account allow it', () => {
  expect(refusalToIgnoreTlsErrors(asked, allowed, true)).toBeNull();
});

test.each([
  ['this service', allowed, false, `set ${byService}`],
  ['this account', {}, true, `set ${byAccount}`],
  ['this account', { allowIgnoreTlsErrors: false }, true, `set ${byAccount}`],
  ['this service and this account', {}, false, `set ${byService}, and set ${byAccount}`],
])('the refusal names what is missing, and who can allow it: %s', (where, account, isAllowedHere, how) => {
  const refusal = refusalToIgnoreTlsErrors(asked, account, isAllowedHere);
  expect(refusal).toBe(`ignoreTlsErrors is not allowed for ${where}. The operator can allow it: ${how}.`);
});

test.each([{}, { ignoreTlsErrors: false }])('a capture that does not ask for it needs no permission: %j', (options) => {
  expect(refusalToIgnoreTlsErrors(options, {}, false)).toBeNull();
});
