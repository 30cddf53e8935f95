import type { FastifyInstance } from 'fastify';
import { checkAdminToken } from '../accounts/admin-token.ts';
import type { FrontDeps } from '../deps.ts';
import { adminAccountsRoutes } from './admin-accounts.ts';
import { adminKeysRoutes } from './admin-keys.ts';

/** All of /admin: for the operator's token only, which is asked for before anything else of a request is looked at. */
export async function adminRoutes(app: FastifyInstance, deps: FrontDeps): Promise<void> {
  await app.register(async (admin) => {
    admin.addHook('onRequest', async ({ headers }) => {
      checkAdminToken(headers.authorization, deps.config.adminToken);
    });
    adminAccountsRoutes(admin, deps);
    adminKeysRoutes(admin, deps);
  });
}
