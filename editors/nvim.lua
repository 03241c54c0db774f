-- Lanescope in Neovim 0.11 or newer: put this into init.lua, or into lua/lanescope.lua and require("lanescope").
vim.filetype.add({ extension = { cu = "cuda", cuh = "cuda", ptx = "ptx", sass = "sass", ttgir = "mlir" } })

vim.lsp.config("lanescope", {
  cmd = { "lanescope", "lsp" },
  filetypes = { "cuda", "cpp", "c", "python", "ptx", "sass", "mlir" },
  root_markers = { "lanescope.toml", "pyproject.toml", "compile_commands.json", ".git" },
  settings = {
    lanescope = { server = "http://127.0.0.1:8000", picture = "text" },
  },
})
vim.lsp.enable("lanescope")

-- LBO, SBO and mode behind calls that build descriptors.
vim.api.nvim_create_autocmd("LspAttach", {
  callback = function(args)
    local client = vim.lsp.get_client_by_id(args.data.client_id)
    if client and client.name == "lanescope" then
      vim.lsp.inlay_hint.enable(true, { bufnr = args.buf })
    end
  end,
})
