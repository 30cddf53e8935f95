import { type CreateKey, NotFoundError, PermissionError, type Webcapture } from '@webcapture/client';

/** A right of a key. */
export type Scope = NonNullable<CreateKey['scopes']>[number];

const unknownUuid = '00000000-0000-7000-8000-000000000000';

/** A request without side effects for each scope. They are needed because the service has no request that returns the scopes of a key. */
const requests: Readonly<Record<Scope, (client: Webcapture) => Promise<unknown>>> = {
  capture: (client) => client.refreshCapture(unknownUuid),
  read: (client) => client.getUsage(),
  manage: (client) => client.listKeysPage({ limit: 1 }),
};

const names = Object.keys(requests) as Scope[];

/** Returns the scopes of a key. Throws the PermissionError of a key that has none because its account is suspended. */
export async function findScopes(client: Webcapture): Promise<ReadonlySet<Scope>> {
  const refusals = await Promise.all(names.map((name) => refusalOf(requests[name](client))));
  const found = names.filter((_, index) => refusals[index] === undefined);
  if (found.length === 0) throw refusals[0];
  return new Set(found);
}

async function refusalOf(request: Promise<unknown>): Promise<PermissionError | undefined> {
  try {
    await request;
  } catch (error) {
    if (error instanceof PermissionError) return error;
    if (!(error instanceof NotFoundError)) throw error;
  }
  return undefined;
}
