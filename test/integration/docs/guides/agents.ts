import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'vitest';
import { mcpTools } from '@webcapture/shared/api/mcp-tools.ts';
import { type Guide, pictureOf, servePages } from './guide.ts';

interface DesktopSettings {
  readonly mcpServers: {
    readonly webcapture: {
      readonly command: string;
      readonly args: string[];
      readonly env: Readonly<Record<string, string>>;
    };
  };
}

export const agents: Guide = {
  name: 'agents',
  promise: 'gives an agent a key, a desktop client the tools, and a program the text and a picture of a page',
  site: () => servePages({ '/pricing': () => '<h1>Prices</h1><a href="/contact">Contact</a>' }),
  notRun: { json: 'the settings of a desktop client: the program is started as the client starts it' },
  async check({ fleet, place, siteUrl, outputs, others, text }) {
    expect(outputs[1]).toMatch(/<<< ([0-9a-f]{16})\n# Prices\n[^]*\n>>> \1/);
    expect(outputs[1]).toContain(`${siteUrl}/contact`);
    const picture = await pictureOf(place, 'page.jpg');
    expect(picture.format).toBe('jpeg');
    expect(Math.max(picture.width, picture.height)).toBeLessThanOrEqual(1568);

    const { command, args, env } = (JSON.parse(others[0]?.code ?? '') as DesktopSettings).mcpServers.webcapture;
    expect(env).toEqual({ WEBCAPTURE_URL: fleet.url, WEBCAPTURE_API_KEY: 'wc_live_...' });
    const client = new Client({ name: 'desktop', version: '1' });
    const own = { ...env, WEBCAPTURE_API_KEY: fleet.key, PATH: place.path };
    await client.connect(new StdioClientTransport({ command, args, env: own }));
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names).toEqual(mcpTools.map(({ name }) => name));
      for (const name of names) expect(text).toContain(`\`${name}\``);
      expect(await client.callTool({ name: 'list_regions' })).not.toHaveProperty('isError', true);
    } finally {
      await client.close();
    }
  },
};
