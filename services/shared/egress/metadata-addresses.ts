/**
 * Addresses at which clouds hand credentials to whoever asks from inside. Most lie in refused ranges anyway; some do
 * not (Azure's), and a range opened as widely as 0.0.0.0/0 must not open them by the way: they need a block of one.
 */
export const metadataAddresses: readonly string[] = [
  '169.254.169.254', // AWS, GCP, Azure, OpenStack, DigitalOcean and others
  '169.254.170.2', // AWS ECS task credentials
  '169.254.170.23', // AWS EKS pod identity
  'fd00:ec2::254', // AWS over IPv6
  'fd00:ec2::23', // AWS EKS pod identity over IPv6
  'fd20:ce::254', // GCP over IPv6
  '168.63.129.16', // Azure's host agent, a public address
  '100.100.100.200', // Alibaba Cloud
  '192.0.0.192', // Oracle Cloud
];
