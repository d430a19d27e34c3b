// An MCP client under remote control: the TypeScript SDKs, one JSON line per request and answer.
//
//     client.cjs sdk older http URL                                     (@modelcontextprotocol/sdk, 1.x)
//     client.cjs client older|newer stdio COMMAND [ARGUMENT...]     (@modelcontextprotocol/client, 2.x)
//
// What the lines say is written in ../python/client.py, which speaks the same.
// NODE_PATH has to name the node_modules that ../setup fills.

const { createInterface } = require('node:readline');

const NAME = { name: 'toolscript-test', version: '1.0.0' };
const MODES = { older: 'legacy', newer: 'auto' };

/** The two SDKs, brought to one shape. */
const KITS = {
    sdk() {
        const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
        const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
        const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
        return {
            connect: async (_era, pick) => {
                const transport = pick(StdioClientTransport, StreamableHTTPClientTransport);
                // This SDK tells the negotiated version to its transport and to nobody else.
                let version;
                const tell = transport.setProtocolVersion?.bind(transport);
                transport.setProtocolVersion = negotiated => {
                    version = negotiated;
                    tell?.(negotiated);
                };
                const client = new Client(NAME);
                await client.connect(transport);
                return { client, transport, version };
            },
            call: (client, params, options) => client.callTool(params, undefined, options)
        };
    },
    client() {
        const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
        const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
        return {
            connect: async (era, pick) => {
                const transport = pick(StdioClientTransport, StreamableHTTPClientTransport);
                const client = new Client(NAME, { versionNegotiation: { mode: MODES[era] } });
                await client.connect(transport);
                return { client, transport, version: client.getNegotiatedProtocolVersion() };
            },
            call: (client, params, options) => client.callTool(params, options)
        };
    }
};

function say(line) {
    process.stdout.write(`${JSON.stringify(line)}\n`);
}

function picker(kind, [first, ...rest]) {
    return (Stdio, Http) =>
        kind === 'http' ? new Http(new URL(first)) : new Stdio({ command: first, args: rest, env: { ...process.env } });
}

function perform(kit, client, request, options) {
    switch (request.do) {
        case 'list_tools':
            return client.listTools({}, options);
        case 'list_resources':
            return client.listResources({}, options);
        case 'read_resource':
            return client.readResource({ uri: request.uri }, options);
        case 'call_tool': {
            const { name, arguments: given, meta } = request;
            return kit.call(client, { name, arguments: given, ...(meta && { _meta: meta }) }, options);
        }
        default:
            throw new Error(`cannot do ${request.do}`);
    }
}

async function answer(kit, client, request, signal) {
    const progress = [];
    const options = { signal, ...(request.progress && { onprogress: note => progress.push(note) }) };
    const started = performance.now();
    let line;
    try {
        line = { result: await perform(kit, client, request, options) };
    } catch (error) {
        line = signal.aborted ? { cancelled: true } : { failure: { code: error.code ?? null, message: error.message } };
    }
    say({ id: request.id, elapsed_ms: performance.now() - started, progress, ...line });
}

async function obey(kit, client) {
    const running = new Map();
    const answers = [];
    for await (const text of createInterface({ input: process.stdin })) {
        const request = JSON.parse(text);
        if (request.do === 'cancel') {
            running.get(request.id).abort();
            continue;
        }
        const controller = new AbortController();
        running.set(request.id, controller);
        answers.push(answer(kit, client, request, controller.signal));
    }
    await Promise.all(answers);
}

async function main([name, era, kind, ...target]) {
    const kit = KITS[name]();
    const { client, transport, version } = await kit.connect(era, picker(kind, target));
    const connected = {
        protocol_version: version,
        server: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
        instructions: client.getInstructions()
    };
    say({ connected });
    await obey(kit, client);
    await transport.terminateSession?.();
    await client.close();
}

// Exits by itself: the 1.x SDK leaves a timer behind that would hold the process for seconds.
main(process.argv.slice(2)).then(
    () => process.exit(0),
    error => {
        console.error(error);
        process.exit(1);
    }
);
