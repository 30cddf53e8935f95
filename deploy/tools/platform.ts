/** Returns the name of this platform in releases and in Go: `linux-amd64`, `darwin-arm64`. */
export function releasePlatform(platform: string = process.platform, arch: string = process.arch): string {
  const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
  return `${platform}-${architectures[arch] ?? arch}`;
}
