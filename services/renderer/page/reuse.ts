import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { type OptionName, optionTable } from '@webcapture/shared/api/option-table.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';

export interface ReusableRequest {
  readonly options: RenderOptions;
  readonly secrets?: CaptureSecrets;
}

/** Whether a capture may reuse the page of an earlier capture of its account, and leave its page to the next one. */
export const mayReusePage = ({ options, secrets }: ReusableRequest): boolean =>
  secrets === undefined &&
  Object.entries(options).every(([name, value]) => value === undefined || isUndone(name, value));

function isUndone(name: string, value: unknown): boolean {
  // Options that follow from a device are not in the table.
  const option = Object.hasOwn(optionTable, name) ? optionTable[name as OptionName] : undefined;
  if (option?.kind !== 'page') return false;
  return typeof option.isUndone === 'boolean' ? option.isUndone : option.isUndone(value as never);
}
