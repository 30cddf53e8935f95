import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { SignInCode } from './sign-in-code.ts';
import { sendData } from '../../api/answers.ts';
import type { LinkSigner } from '../../signed-links.ts';

/** Folder of the built dashboard, next to the services in the repository and in the images. */
export const builtDashboard = join(import.meta.dirname, '../../../dashboard/dist');

export interface DashboardDeps {
  /** Folder of the built dashboard; may be missing. */
  readonly dashboardFolder?: string | undefined;
  /** Base URL of files: a file is at `<cdnUrl>/<name>`. */
  readonly cdnUrl: string;
  /** If set, /files redirects to signed links. */
  readonly linkSigner?: LinkSigner | undefined;
  /** If undefined, sign-in by a link is disabled. */
  readonly signInCode?: string | undefined;
  /** API key that the code is exchanged for. */
  readonly presetKey?: string | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const notBuilt = `The dashboard of this webcapture has not been built.

npm start builds it, and the images contain it. To build it by hand, run this in the repository:

  npm run dashboard

The API works without it: see ../docs.
`;

/**
 * GET /dashboard/ and POST /dashboard/sign-in-code. The dashboard consists of static files without secrets, which call
 * the API with the user's key.
 */
export async function dashboardRoutes(app: FastifyInstance, deps: DashboardDeps) {
  const { dashboardFolder = builtDashboard, cdnUrl, linkSigner, presetKey, now } = deps;
  const signIn =
    deps.signInCode && presetKey ? new SignInCode({ code: deps.signInCode, key: presetKey, now }) : undefined;
  const signedOrigins = linkSigner === undefined ? [] : [linkSigner.origin];
  const headers = securityHeaders(new Set([new URL(cdnUrl).origin, ...signedOrigins]));
  await app.register(async (scope) => {
    await scope.register(fastifyStatic, {
      root: dashboardFolder,
      serve: false,
      preCompressed: true,
      cacheControl: false,
      // The names of assets contain a hash of their content. Other files may change with the next version.
      setHeaders: (reply, path) => {
        const isHashed = /(^|[/\\])assets[/\\]/.test(path);
        void reply.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
      },
      // A front may run without a built dashboard.
      suppressWarning: true,
    });

    scope.get('/dashboard', { schema: { hide: true } }, async ({ url }, reply) => {
      // The address is relative, so that it works behind a proxy that adds a path. Relative addresses in the page need the slash at the
      // end.
      if (!url.split('?')[0]?.endsWith('/')) return reply.redirect('dashboard/');
      return sendPage(reply);
    });

    scope.get<{ Params: { '*': string } }>('/dashboard/*', { schema: { hide: true } }, async ({ params }, reply) => {
      const name = params['*'];
      if (name === '' || name === 'index.html') return sendPage(reply);
      // For such a path, @fastify/static would fail with an error that is logged as an error of the service.
      if (name.split(/[/\\]/).includes('..')) return reply.callNotFound();
      return reply.headers(headers).sendFile(name);
    });

    if (signIn !== undefined) {
      scope.post<{ Body: { code: string } }>('/dashboard/sign-in-code', {
        // The route needs no API key, so the body is small.
        bodyLimit: 1024,
        schema: { hide: true, body: signInCodeSchema },
        handler: async ({ body, socket }, reply) =>
          sendData(reply.header('cache-control', 'no-store'), {
            key: signIn.redeem(body.code, socket.remoteAddress),
          }),
      });
    }

    const sendPage = async (reply: FastifyReply) => {
      void reply.headers(headers);
      if (existsSync(join(dashboardFolder, 'index.html'))) return reply.sendFile('index.html');
      return reply.code(404).header('cache-control', 'no-cache').type('text/plain; charset=utf-8').send(notBuilt);
    };
  });
}

const signInCodeSchema = Type.Object(
  { code: Type.String({ minLength: 1, maxLength: 256 }) },
  { additionalProperties: false },
);

/** Allows the page to load its own files, call its own service, and show files of captures, and nothing else. */
function securityHeaders(fileOrigins: ReadonlySet<string>): Readonly<Record<string, string>> {
  const files = [...fileOrigins].join(' ');
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "worker-src 'self'",
      "style-src 'self'",
      `img-src 'self' blob: data: ${files}`,
      `connect-src 'self' ${files}`,
      "frame-ancestors 'none'",
      "form-action 'none'",
      "base-uri 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    // Linked sites must not see the address of a capture.
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}
