import { parseArgs } from 'node:util';

export interface CommandOptions {
  readonly delete: boolean;
  readonly force: boolean;
  readonly missing: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

export const usage = `Compares the files in the store with the records of captures.

usage: npm run reconcile -- [options]
       node services/controller/reconcile/main.ts [options]

Without options nothing is changed: it prints each file that should not be there, and why.

  --delete    remove these files
  --force     with --delete: also files without a record whose time is not over. They are left alone
              otherwise: their records may be lost, or they are another installation's.
  --missing   also ask the store for the file of every completed capture, and print those that
              have lost it. They are never changed. Takes a request to the store for each.
  --json      one JSON object a line
  --help      this text

Why a file is to go:
  no_record   older than 24 h, and no capture of that name is known
  other_file  its capture has another file
  ended       its capture has failed, has expired or was deleted more than an hour ago, and the
              task to remove it got lost
  overdue     the time of its capture was over more than an hour ago, and nobody has ended it

It reads the same variables as the controller: WEBCAPTURE_NATS_URL, _USER and _PASSWORD, those of
the store. On a cluster: kubectl exec deploy/webcapture-controller -- node services/controller/reconcile/main.ts
"npm run reconcile" finds the NATS of a running "npm start" by itself (WEBCAPTURE_DATA_DIR).

Exit code: 0 nothing is wrong (any more), 3 something is, and it was not changed, 1 it could not be
done, or not all of it, 2 an option is unknown, 78 a variable is wrong.
`;

/** Throws a TypeError whose message names the option that is wrong. */
export function parseOptions(args: readonly string[]): CommandOptions {
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { delete: flag, force: flag, missing: flag, json: flag, help: flag },
  });
  if (values.force && !values.delete) throw new TypeError('--force goes with --delete');
  return values;
}
