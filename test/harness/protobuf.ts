/** The fields of a message of Protocol Buffers by their numbers, in the order in which they came. */
export type Fields = ReadonlyMap<number, readonly (bigint | Buffer)[]>;

/**
 * Reads a message without its schema: integers of any encoding as bigint, everything else as bytes. Throws a RangeError if the message is
 * cut off. See https://protobuf.dev/programming-guides/encoding.
 */
export function readFields(message: Buffer): Fields {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number) => {
    if (at + length > message.length) throw new RangeError('the message is cut off');
    return message.subarray(at, (at += length));
  };
  const read = (type: number): bigint | Buffer => {
    if (type === 0) return varint();
    if (type === 1) return bytes(8).readBigUInt64LE();
    if (type === 2) return bytes(Number(varint()));
    if (type === 5) return BigInt(bytes(4).readUInt32LE());
    throw new RangeError(`there is no wire type ${type}`);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const values = fields.get(tag >> 3) ?? [];
    values.push(read(tag & 7));
    fields.set(tag >> 3, values);
  }
  return fields;
}

/** Returns the messages in a field. */
export const messagesIn = (fields: Fields, field: number): readonly Fields[] =>
  (fields.get(field) ?? []).map((value) => readFields(value as Buffer));

/** Returns the bytes of a field; empty if it is absent. */
export const bytesIn = (fields: Fields, field: number): Buffer =>
  (fields.get(field)?.at(-1) as Buffer | undefined) ?? Buffer.alloc(0);

/** Returns the integer of a field; 0 if it is absent. */
export const integerIn = (fields: Fields, field: number): bigint =>
  (fields.get(field)?.at(-1) as bigint | undefined) ?? 0n;
