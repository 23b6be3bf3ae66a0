# The digest of this tag's index for all architectures, so that later builds start from the same image.
FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS node

# Bundles the sources with their libraries. The image gets dist/ from this stage, without build metadata, and
# package.json and LICENSE.
FROM node AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
COPY client ./client
COPY schema.graphql LICENSE ./
COPY pages ./pages
RUN npm run build && find dist -name '*.map' -delete -o -name bundled.json -delete -o -name made-from -delete
# The engine of the store has a part for each platform, so it is not bundled.
RUN node scripts/package-manifest.js apply && npm prune --omit=dev --ignore-scripts
# Readable for user 1000 whatever the umask of the build.
RUN chmod -R a+rX dist node_modules LICENSE package.json

FROM node
LABEL org.opencontainers.image.title="links-market-gateway" \
      org.opencontainers.image.description="A GraphQL gateway over a link-management API and a marketplace API" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-slim" \
      org.opencontainers.image.base.digest="sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6"
# A container's loopback is not reachable from outside, so it listens on all addresses. AUTH_MODE and SANDBOX are left
# unset on purpose: this file must open neither a real API nor, after a misspelled setting, sample data to everyone. For
# the sandbox, run the image with -e SANDBOX=on.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 STATE_DIR=state/gateway
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/dist ./dist
COPY --from=build /app/node_modules ./node_modules
# The only folder that is written to: mount a volume here to keep it longer than the container.
# Any user of a container may write here, so the gateway creates its own folder in it.
RUN mkdir -m 1777 state
# As a number, so that Kubernetes can verify that it is not root.
USER 1000:1000
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# So that `docker run IMAGE check-config` and all other commands work.
ENTRYPOINT ["node", "dist/main.js"]
