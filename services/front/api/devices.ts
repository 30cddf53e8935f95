import { success } from '@webcapture/shared/api/envelope.ts';
import { type Device, devices } from '@webcapture/shared/api/devices.ts';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { example, successAnswer } from './answers.ts';

const size = { width: Type.Integer(), height: Type.Integer() };

export const deviceSchema = Type.Object({
  name: Type.String({ description: 'Value of the option device.' }),
  viewport: Type.Object({ ...size, deviceScaleFactor: Type.Number() }),
  screen: Type.Object(size, { description: 'Size of the screen in CSS pixels.' }),
  isMobile: Type.Boolean({ description: 'Whether the device has a touch screen and applies the viewport meta tag.' }),
  userAgent: Type.String(),
});

const devicesExample: readonly Device[] = [...devices.values()].filter(({ name }) => name === 'iPhone 15');

/** The list changes only with a release of the service. */
const cacheControl = 'public, max-age=3600';

/** GET /devices: the values of the option `device`. It needs no API key, because the list is the same for all accounts. */
export function devicesRoute(app: FastifyInstance): void {
  app.get('/devices', {
    schema: {
      operationId: 'listDevices',
      tags: ['captures'],
      summary: 'List the devices',
      description:
        'Returns the devices that the option device of POST /capture knows. Needs no API key; caches may keep the response for an hour.',
      response: {
        200: successAnswer('The devices.', Type.Object({ devices: Type.Array(deviceSchema) }), {
          devices: example('One of the devices', success({ devices: devicesExample })),
        }),
      },
    },
    handler: async (_request, reply) =>
      reply
        .headers({ 'cache-control': cacheControl, 'access-control-allow-origin': '*' })
        .send(success({ devices: [...devices.values()] })),
  });
}
