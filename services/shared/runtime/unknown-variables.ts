import type { Environment } from './env.ts';
import { nearestNames } from './nearest-names.ts';
import { variableNames } from './variable-names.ts';

/** A variable that begins with `WEBCAPTURE_` and that nothing reads. */
interface UnknownVariable {
  readonly variable: string;
  /** A sentence that names the nearest known variable if there is one. It does not contain the value, which may be a secret. */
  readonly message: string;
}

/**
 * Returns those variables of the environment that have the prefix of this software but are known to no service, such as `WEBCAPTURE_SLOT`.
 * Variables of other services count as known, because services may share an environment file.
 */
export function unknownVariables(environment: Environment): readonly UnknownVariable[] {
  const known = new Set(variableNames);
  return Object.entries(environment)
    .filter(([name, value]) => name.startsWith('WEBCAPTURE_') && !known.has(name) && !isForeign(name, value))
    .map(([variable]) => ({ variable, message: `${variable} is not known${suggestion(variable)}` }));
}

function suggestion(variable: string): string {
  const [nearest] = nearestNames(variableNames, variable);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

/**
 * Whether something else sets the variable: the tests, or Kubernetes, which gives the pods of a namespace the addresses of each Service,
 * as in `WEBCAPTURE_FRONT_SERVICE_HOST` and `WEBCAPTURE_FRONT_PORT=tcp://10.0.0.1:80`.
 */
function isForeign(name: string, value = ''): boolean {
  const isForeignName = /^WEBCAPTURE_TEST_|_SERVICE_(?:HOST|PORT)|_PORT_\d+_(?:TCP|UDP|SCTP)/.test(name);
  return isForeignName || /^(?:tcp|udp|sctp):\/\//.test(value);
}
