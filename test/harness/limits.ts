import type { ByteLimits } from '@webcapture/shared/accounts/byte-limits.ts';
import type { Usage } from '@webcapture/shared/captures/usage.ts';

/** Limits for bytes that no test reaches. */
export const wideBytes: ByteLimits = { maxQueuedBytes: 1e15, maxStoredBytes: 1e15, maxPersistedBytes: 1e15 };

/** Returns the charges of a usage, without its bytes. */
export const chargesOf = ({ tokens, captures, reserved, queued }: Usage) => ({ tokens, captures, reserved, queued });
